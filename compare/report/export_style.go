package report

import (
	"fmt"
	"regexp"
	"strings"
)

// Programs that draw SVG files outside of browsers know no custom properties, and some no media queries.
// So a figure on its own has its colours spelled out: light ones, and dark ones for readers that prefer
// them.

// standaloneStyle is the style of the elements of one drawing.
func standaloneStyle(l looks, drawing string) string {
	light, dark := themes()
	used := classesIn(drawing)
	var b strings.Builder
	b.WriteString(l.spelledOut(used, light, func(look look) string { return look.light }, false))
	b.WriteString("@media(prefers-color-scheme:dark){")
	b.WriteString(l.spelledOut(used, dark, func(look look) string { return look.dark }, true))
	b.WriteString("}")
	return b.String()
}

// spelledOut writes the rules for the classes that are used. Rules that take the colour of a protocol are
// there once for each. coloured leaves out what has no colour.
func (l looks) spelledOut(used map[string]bool, theme map[string]string, colour func(look) string, coloured bool) string {
	var b strings.Builder
	for _, rule := range figureRules() {
		if !rule.matches(used) {
			continue
		}
		b.WriteString(rule.with(theme, coloured, false))
		for _, label := range l.order {
			if look := l.byLabel[label]; used[look.class] {
				own := rule
				own.selector = fmt.Sprintf(".%s %s,%s.%s", look.class, strings.TrimPrefix(rule.selector, "svg "), rule.selector, look.class)
				theme["c"] = colour(look)
				b.WriteString(own.with(theme, coloured, true))
			}
		}
	}
	return b.String()
}

// A styleRule is a line of the style of figures.
type styleRule struct {
	selector     string
	declarations []string
}

var styleLine = regexp.MustCompile(`(?m)^([^{}]+)\{([^{}]*)\}$`)

func figureRules() []styleRule {
	var rules []styleRule
	for _, m := range styleLine.FindAllStringSubmatch(figureStyle(), -1) {
		rules = append(rules, styleRule{m[1], strings.Split(m[2], ";")})
	}
	return rules
}

var classInSelector = regexp.MustCompile(`\.([a-z][a-z0-9]*)`)

// matches tells whether all classes of the selector are used.
func (r styleRule) matches(used map[string]bool) bool {
	for _, class := range classInSelector.FindAllStringSubmatch(r.selector, -1) {
		if !used[class[1]] {
			return false
		}
	}
	return true
}

var variable = regexp.MustCompile(`var\(--([a-z0-9]+)\)`)

// with writes the declarations that take the colour of a protocol, or those that do not, with the colours of
// a theme; "" if there are none.
func (r styleRule) with(theme map[string]string, coloured, protocol bool) string {
	var kept []string
	for _, d := range r.declarations {
		if strings.Contains(d, "var(--c)") != protocol || coloured && !variable.MatchString(d) {
			continue
		}
		kept = append(kept, variable.ReplaceAllStringFunc(d, func(v string) string { return theme[variable.FindStringSubmatch(v)[1]] }))
	}
	if len(kept) == 0 {
		return ""
	}
	return r.selector + "{" + strings.Join(kept, ";") + "}\n"
}

var (
	rootBlock  = regexp.MustCompile(`:root\{([^{}]*)\}`)
	definition = regexp.MustCompile(`--([a-z0-9]+):([^;]+)`)
)

// themes are the values of the page's colours: its first :root is light, its second dark.
func themes() (light, dark map[string]string) {
	blocks := rootBlock.FindAllStringSubmatch(pageStyle(), 2)
	return definitions(blocks[0][1]), definitions(blocks[1][1])
}

func definitions(block string) map[string]string {
	values := map[string]string{}
	for _, d := range definition.FindAllStringSubmatch(block, -1) {
		values[d[1]] = strings.TrimSpace(d[2])
	}
	return values
}

var classAttribute = regexp.MustCompile(`class="([^"]*)"`)

func classesIn(drawing string) map[string]bool {
	used := map[string]bool{}
	for _, m := range classAttribute.FindAllStringSubmatch(drawing, -1) {
		for _, class := range strings.Fields(m[1]) {
			used[class] = true
		}
	}
	return used
}
