package service

// A Waker carries "there may be work" from any goroutine to one waiting Loop.
// Signals that arrive while one is pending are merged. The zero value is not
// usable; call NewWaker.
type Waker struct{ ch chan struct{} }

// NewWaker returns a Waker with no pending signal.
func NewWaker() *Waker { return &Waker{ch: make(chan struct{}, 1)} }

// Wake leaves a signal. It never blocks and is safe for concurrent use.
func (w *Waker) Wake() {
	select {
	case w.ch <- struct{}{}:
	default:
	}
}

// C is the channel that delivers the signal to the one waiter.
func (w *Waker) C() <-chan struct{} { return w.ch }
