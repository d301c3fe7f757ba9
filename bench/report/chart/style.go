package chart

import _ "embed"

// CSS is the style sheet the figures need, for the <style> element of the page
// that holds them. It defines the colours of the classes c0 to c7 as custom
// properties for light and dark surroundings, which tables may use as well.
//
//go:embed chart.css
var CSS string

// Colours is the number of classes c0, c1, … that CSS gives colours to.
const Colours = 8
