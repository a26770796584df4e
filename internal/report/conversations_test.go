package report

import (
	"bytes"
	"strings"
	"testing"

	"squall/scenarios"
)

func TestConversations(t *testing.T) {
	r := storm()
	r.Conversations = &scenarios.Conversations{
		Total: 1200, Complete: 1170, Incomplete: 9, Abandoned: 21, Translated: 1200, Frames: 30000, Arrived: 29000, GivenUp: 40, Unsent: 960, Late: 3, Retries: 77,
		LeftOut: scenarios.ConversationsLeftOut{NoIP: 4, ICMPErrors: 5},
	}
	for range 30 {
		r.Conversations.Broken = append(r.Conversations.Broken, scenarios.BrokenConversation{
			Conversation: 7, Proto: 6, Client: "192.0.2.1:1025", Server: "192.0.2.2:80", Result: "abandoned", Frames: 12, Arrived: 3, GivenUp: 1, At: 1234,
		})
	}
	var b bytes.Buffer
	if err := Text(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1,200     1,170           9         21       1,200  30,000   29,000        40     960       77\n",
		"  3 frames arrived after they had been given up (--give-up)\n",
		"  left out: 4 without IP\n",
		"  left out: 5 ICMP errors (--learn)\n",
		"7  192.0.2.1:1025  192.0.2.2:80         6  abandoned      12        3         1              1234\n",
		"  30 in all, the first 30 in run.json\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("report lacks %q:\n%s", want, b.String())
		}
	}
	if n := strings.Count(b.String(), "192.0.2.1:1025"); n != brokenShown {
		t.Errorf("%d broken conversations are shown, want %d", n, brokenShown)
	}
	if strings.Contains(b.String(), "--learn follows") {
		t.Error("a NAT is suspected without a sign of it")
	}
	r.Pairs = []*scenarios.Result{{Strays: map[string]uint64{"0x0800": 4}}}
	r.Conversations.Translated = 0
	b.Reset()
	if err := Text(&b, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "--learn follows") {
		t.Errorf("no word of the NAT:\n%s", b.String())
	}
	r.Conversations = nil
	b.Reset()
	if err := Text(&b, r); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "conversations") {
		t.Error("a run without conversations has some")
	}
}
