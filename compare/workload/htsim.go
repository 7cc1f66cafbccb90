package workload

import (
	"fmt"
	"io"
	"strings"

	"github.com/weft-transport/weft/compare/workload/lines"
	"github.com/weft-transport/weft/transport/instant"
)

// ReadHtsim reads a connection matrix of the htsim family (.cm, .tm):
//
//	Nodes 128                  header words in any order, up to the first line of the body
//	Connections 2
//	Triggers 1
//	0->13 id 1 start 0 size 2000000 send_done_trigger 1
//	13->7 id 2 trigger 1 size 2000000
//	trigger id 1 oneshot
//
// unit is what start counts: the tools disagree between microseconds and picoseconds. Triggers
// work as their authors meant them, recv_done_trigger included. What those tools abort on or get
// wrong in silence (a host out of range, 0->0, a missing size, counts that do not match) is an
// error. Tabs, double blanks, comments between lines and carriage returns are harmless and
// accepted. Priorities are read and not used; failure lines belong into the scenario.
func ReadHtsim(from io.Reader, file string, unit instant.Time) (*Plan, error) {
	m := &matrix{Reader: lines.New(from, file), unit: unit, triggerOf: map[int64]int32{}, flowOf: map[int64]int{}, header: map[string]int64{}}
	for m.Next() {
		if err := m.line(); err != nil {
			return nil, err
		}
	}
	if err := m.Err(); err != nil {
		return nil, err
	}
	return m.finish()
}

// A matrix is a connection matrix while it is read.
type matrix struct {
	*lines.Reader
	unit      instant.Time
	header    map[string]int64
	plan      Plan
	body      bool            // the header has ended
	flowOf    map[int64]int   // line of each flow id
	triggerOf map[int64]int32 // trigger id to index plus one, in order of first mention
	ids       []int64         // by trigger index
	defined   []int           // line that defines each trigger; 0: not yet
	mentioned []int           // line that first names it
	flowLines []int
	triggers  int64
}

func (m *matrix) line() error {
	first := strings.ToLower(m.Fields[0])
	switch {
	case strings.Contains(first, "->"):
		m.body = true
		return m.connection()
	case first == "trigger":
		m.body = true
		return m.trigger()
	case first == "failure":
		return m.Errorf("failure lines are not read (the tools of this format stop at them); put the link under faults: in the scenario, such as {at: 0, link: agg0-core0, kind: down}")
	case m.body:
		return m.Errorf("%s starts neither a connection (0->13 ...) nor a trigger", lines.Quote(m.Fields[0]))
	}
	return m.headerLine(first)
}

// headerWords are the words of the header with the largest value of each.
var headerWords = map[string]int64{"nodes": 1 << 24, "connections": maxFlows, "triggers": maxFlows, "failures": 1 << 20}

func (m *matrix) headerLine(word string) error {
	limit, known := headerWords[word]
	if !known {
		return m.Errorf("%s is no header word; expected Nodes, Connections, Triggers, or a connection such as 0->13 start 0 size 2000000", lines.Quote(m.Fields[0]))
	}
	if len(m.Fields) != 2 {
		return m.Errorf("%s takes one number, not %d", m.Fields[0], len(m.Fields)-1)
	}
	if _, twice := m.header[word]; twice {
		return m.Errorf("%s is given twice", m.Fields[0])
	}
	n, err := m.Whole(m.Fields[1], m.Fields[0], 0, limit)
	m.header[word] = n
	return err
}

// attributes reads the words behind the first field: pairs of a name and a number. A name of
// alone may stand without one.
func (m *matrix) attributes(fields []string, alone string, known ...string) (map[string]string, error) {
	values := map[string]string{}
	for i := 0; i < len(fields); {
		name := strings.ToLower(fields[i])
		if !has(known, name) {
			return nil, m.Errorf("unknown word %s; expected one of %s", lines.Quote(fields[i]), strings.Join(known, ", "))
		}
		if _, twice := values[name]; twice {
			return nil, m.Errorf("%s is given twice", name)
		}
		if name == alone && (i+1 == len(fields) || has(known, strings.ToLower(fields[i+1]))) {
			values[name] = ""
			i++
			continue
		}
		if i+1 == len(fields) {
			return nil, m.Errorf("%s has no value", name)
		}
		values[name] = fields[i+1]
		i += 2
	}
	return values, nil
}

func has(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// connection reads "0->13 id 1 start 0 size 2000000".
func (m *matrix) connection() error {
	f := Flow{Start: instant.Never, Measured: true}
	if err := m.ends(&f); err != nil {
		return err
	}
	a, err := m.attributes(m.Fields[1:], "msg", "id", "start", "trigger", "size", "send_done_trigger", "recv_done_trigger", "prio", "msg")
	if err != nil {
		return err
	}
	if err := m.identity(a); err != nil {
		return err
	}
	if err := m.size(a, &f); err != nil {
		return err
	}
	if err := m.startOf(a, &f); err != nil {
		return err
	}
	if f.SendDone, err = m.mention(a, "send_done_trigger"); err != nil {
		return err
	}
	if f.RecvDone, err = m.mention(a, "recv_done_trigger"); err != nil {
		return err
	}
	m.plan.Flows = append(m.plan.Flows, f)
	m.flowLines = append(m.flowLines, m.Line)
	return nil
}

// ends reads "0->13".
func (m *matrix) ends(f *Flow) error {
	nodes, given := m.header["nodes"]
	if !given {
		return m.Errorf("a connection before the line Nodes N, which says how many hosts there are")
	}
	left, right, _ := strings.Cut(m.Fields[0], "->")
	for _, end := range []struct {
		text string
		host *int32
	}{{left, &f.Src}, {right, &f.Dst}} {
		h, err := m.Whole(end.text, "host", 0, nodes-1)
		if err != nil {
			return err
		}
		*end.host = int32(h)
	}
	if f.Src == f.Dst {
		return m.Errorf("host %d sends to itself", f.Src)
	}
	return nil
}

// identity checks that ids are unique, but for the messages of a reused connection.
func (m *matrix) identity(a map[string]string) error {
	text, given := a["id"]
	_, message := a["msg"]
	if !given {
		return nil
	}
	id, err := m.Whole(text, "id", 1, 1<<62)
	if err != nil {
		return err
	}
	if line, twice := m.flowOf[id]; twice && !message {
		return m.Errorf("id %d is that of line %d, too", id, line)
	}
	m.flowOf[id] = m.Line
	return nil
}

func (m *matrix) size(a map[string]string, f *Flow) error {
	text, given := a["size"]
	if !given {
		return m.Errorf("size is missing; expected size and the bytes of the flow")
	}
	size, err := m.Whole(text, "size", 0, 1<<50)
	if err == nil && size == 0 {
		err = m.Errorf("size 0 means an endless flow in this format; expected the bytes of the flow")
	}
	f.Bytes = uint64(size)
	return err
}

func (m *matrix) startOf(a map[string]string, f *Flow) error {
	start, atTime := a["start"]
	_, byTrigger := a["trigger"]
	if atTime == byTrigger {
		return m.Errorf("expected either start and a time, or trigger and a number")
	}
	if byTrigger {
		var err error
		f.StartTrigger, err = m.mention(a, "trigger")
		return err
	}
	units, err := m.Decimal(start, "start", 0, float64(1000*instant.Second)/float64(m.unit))
	f.Start = instant.Time(float64(units*float64(m.unit)) + 0.5)
	return err
}

// mention returns the index plus one of the trigger that an attribute names, if there is one; it
// may be defined later.
func (m *matrix) mention(a map[string]string, word string) (int32, error) {
	text, given := a[word]
	if !given {
		return 0, nil
	}
	id, err := m.Whole(text, word, 1, 1<<62)
	if err != nil {
		return 0, err
	}
	if t, known := m.triggerOf[id]; known {
		return t, nil
	}
	t := m.plan.trigger(Trigger{})
	m.triggerOf[id] = t
	m.ids = append(m.ids, id)
	m.defined = append(m.defined, 0)
	m.mentioned = append(m.mentioned, m.Line)
	return t, nil
}

// trigger reads "trigger id 1 barrier count 8".
func (m *matrix) trigger() error {
	if len(m.Fields) < 4 || strings.ToLower(m.Fields[1]) != "id" {
		return m.Errorf("expected trigger id N oneshot, trigger id N multishot or trigger id N barrier count N")
	}
	t, err := m.mention(map[string]string{"trigger id": m.Fields[2]}, "trigger id")
	if err != nil {
		return err
	}
	if line := m.defined[t-1]; line != 0 {
		return m.Errorf("trigger %s is that of line %d, too", m.Fields[2], line)
	}
	m.defined[t-1] = m.Line
	m.triggers++
	trigger := &m.plan.Triggers[t-1]
	rest := m.Fields[4:]
	switch kind := strings.ToLower(m.Fields[3]); {
	case kind == "oneshot" && len(rest) == 0:
		trigger.Kind = Oneshot
	case kind == "multishot" && len(rest) == 0:
		trigger.Kind = Multishot
	case kind == "barrier" && len(rest) == 2 && strings.ToLower(rest[0]) == "count":
		count, err := m.Whole(rest[1], "count", 1, 1<<30)
		trigger.Kind, trigger.Count = Barrier, int32(count)
		return err
	default:
		return m.Errorf("%s is no kind of trigger; expected oneshot, multishot or barrier count N", lines.Quote(strings.Join(m.Fields[3:], " ")))
	}
	return nil
}

// finish compares the counts, and checks that everything starts.
func (m *matrix) finish() (*Plan, error) {
	p := &m.plan
	nodes, given := m.header["nodes"]
	if !given {
		return nil, m.Errorf("the line Nodes N is missing")
	}
	p.Nodes = int(nodes)
	for _, c := range []struct {
		word string
		have int64
	}{{"connections", int64(len(p.Flows))}, {"triggers", m.triggers}, {"failures", 0}} {
		want, given := m.header[c.word]
		if !given && c.word == "connections" {
			return nil, m.Errorf("the line Connections N is missing")
		}
		if want != c.have {
			return nil, m.Errorf("the header announces %d %s but there are %d", want, c.word, c.have)
		}
	}
	for t, line := range m.defined {
		if line == 0 {
			m.Line = m.mentioned[t]
			return nil, m.Errorf("trigger %d is not defined; expected a line trigger id %d oneshot, multishot or barrier", m.ids[t], m.ids[t])
		}
	}
	p.names = &names{file: m.File, flowLines: m.flowLines, triggers: m.ids}
	if err := p.Check(); err != nil {
		if len(p.Flows) == 0 {
			err = fmt.Errorf("%s: there are no connections", m.File)
		}
		return nil, err
	}
	return p, nil
}

// names tells flows and triggers of a file apart in messages.
type names struct {
	file      string
	flowLines []int
	triggers  []int64
}
