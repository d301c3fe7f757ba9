package chart

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// canvas collects the elements of one <svg>. Pixels are written with one
// decimal: finer than any screen, and stable between machines.
type canvas struct {
	b strings.Builder
}

// anchor says which point of a text lies at its position.
type anchor string

const (
	start  anchor = "start"
	middle anchor = "middle"
	end    anchor = "end"
)

// newCanvas opens a figure. title is its name for those who cannot see it,
// description says in words what it shows.
func newCanvas(class, title, description string, width, height float64) *canvas {
	c := new(canvas)
	fmt.Fprintf(&c.b, `<svg class="chart %s" role="img" viewBox="0 0 %s %s" xmlns="http://www.w3.org/2000/svg">`,
		class, px(width), px(height))
	fmt.Fprintf(&c.b, "<title>%s</title><desc>%s</desc>\n", html.EscapeString(title), html.EscapeString(description))
	return c
}

// close ends the figure and returns its text.
func (c *canvas) close() string {
	c.b.WriteString("</svg>\n")
	return c.b.String()
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&c.b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n", class, px(x1), px(y1), px(x2), px(y2))
}

func (c *canvas) text(class string, x, y float64, a anchor, s string) {
	fmt.Fprintf(&c.b, `<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`+"\n", class, px(x), px(y), a, html.EscapeString(s))
}

func (c *canvas) rect(class string, x, y, width, height float64) {
	fmt.Fprintf(&c.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`+"\n", class, px(x), px(y), px(width), px(height))
}

// dot is a round marker; a tip, if any, appears under the pointer.
func (c *canvas) dot(class string, x, y, radius float64, tip string) {
	fmt.Fprintf(&c.b, `<circle class="%s" cx="%s" cy="%s" r="%s"`, class, px(x), px(y), px(radius))
	if tip == "" {
		c.b.WriteString("/>\n")
		return
	}
	fmt.Fprintf(&c.b, "><title>%s</title></circle>\n", html.EscapeString(tip))
}

// diamond is a marker for an estimate.
func (c *canvas) diamond(class string, x, y, radius float64, tip string) {
	fmt.Fprintf(&c.b, `<path class="%s" d="M%s %sl%s %sl%s %sl%s %sz"><title>%s</title></path>`+"\n", class,
		px(x-radius), px(y), px(radius), px(-radius), px(radius), px(radius), px(-radius), px(radius), html.EscapeString(tip))
}

// point is a position in pixels.
type point struct{ x, y float64 }

// polyline draws one open path through the points. Fewer than two draw nothing.
func (c *canvas) polyline(class string, ps []point) {
	if len(ps) < 2 {
		return
	}
	fmt.Fprintf(&c.b, `<path class="%s" d="%s"/>`+"\n", class, path(ps))
}

// area fills the space between an upper and a lower path of the same x values.
func (c *canvas) area(class string, upper, lower []point) {
	if len(upper) < 2 {
		return
	}
	outline := append([]point(nil), upper...)
	for i := len(lower) - 1; i >= 0; i-- {
		outline = append(outline, lower[i])
	}
	fmt.Fprintf(&c.b, `<path class="%s" d="%sz"/>`+"\n", class, path(outline))
}

func path(ps []point) string {
	var b strings.Builder
	for i, p := range ps {
		switch i {
		case 0:
			b.WriteByte('M')
		case 1:
			b.WriteByte('L')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(px(p.x))
		b.WriteByte(' ')
		b.WriteString(px(p.y))
	}
	return b.String()
}

func px(v float64) string {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	s = strings.TrimSuffix(s, ".0")
	if s == "-0" {
		return "0"
	}
	return s
}

// spreadLabels moves labels that would overlap apart, keeping their order:
// ys are the wished positions from top to bottom, gap the least distance, and
// no label goes below bottom.
func spreadLabels(ys []float64, gap, bottom float64) []float64 {
	out := append([]float64(nil), ys...)
	for i := 1; i < len(out); i++ {
		out[i] = max(out[i], out[i-1]+gap)
	}
	limit := bottom
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = min(out[i], limit)
		limit = out[i] - gap
	}
	return out
}
