package probe

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"squall/internal/netns"
)

// Page is a text fetched by HTTP for each reading, a Prometheus page as a rule.
// Its counters have the title as Where. Make it by [NewPage] and close it.
type Page struct {
	title, url string
	format     Format
	client     *http.Client
}

// pageLimit is the most bytes a page may have.
const pageLimit = 16 << 20

// NewPage returns a probe of a URL as seen from a network namespace. A fetch may
// take as long as timeout, from the connection to the last byte; 0: 5 s. The
// connection is kept between readings; no proxy is asked.
func NewPage(title, url string, ns *netns.NS, format Format, timeout time.Duration) *Page {
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	dial := func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
		// Only the socket belongs to the namespace; but a name with several
		// addresses is dialled on goroutines, which are on other threads.
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		ips, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			return nil, err
		}
		for _, ip := range ips {
			err = ns.Do(func() error {
				conn, err = (&net.Dialer{FallbackDelay: -1}).DialContext(ctx, network, net.JoinHostPort(ip, port))
				return err
			})
			if err == nil {
				return conn, nil
			}
		}
		return nil, err
	}
	return &Page{title: title, url: url, format: format, client: &http.Client{
		Timeout:   timeout,
		Transport: &http.Transport{DialContext: dial, MaxIdleConns: 1, IdleConnTimeout: time.Minute},
	}}
}

// Name returns "page" and the title.
func (p *Page) Name() string { return "page " + p.title }

// Read fetches the page.
func (p *Page) Read() (Reading, error) {
	text, err := p.fetch()
	if err != nil {
		return Reading{}, fmt.Errorf("%s: %w", p.Name(), err)
	}
	return titled(p.Name(), p.title, p.format, text)
}

func (p *Page) fetch() ([]byte, error) {
	req, err := http.NewRequest(http.MethodGet, p.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4, */*;q=0.5")
	req.Header.Set("User-Agent", "squall")
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: status %s", p.url, resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, pageLimit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.url, err)
	}
	if len(text) > pageLimit {
		return nil, fmt.Errorf("%s: more than %d bytes", p.url, pageLimit)
	}
	return text, nil
}

// Close closes the connection.
func (p *Page) Close() error {
	p.client.CloseIdleConnections()
	return nil
}
