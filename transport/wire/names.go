package wire

import "strconv"

// name returns the word for a code point, or its number if it has none.
func name(words []string, code int) string {
	if code < len(words) && words[code] != "" {
		return words[code]
	}
	return strconv.Itoa(code)
}

// nameOrVendor names a code point of a set that leaves a range to vendors.
func nameOrVendor(words []string, code, first, last int) string {
	if code >= first && code <= last {
		return "VENDOR_0x" + strconv.FormatInt(int64(code), 16)
	}
	return name(words, code)
}

// A flagName names one bit of a flag field.
type flagName struct {
	bit  uint8
	word string
}

// flagString lists the set bits, "ar+syn"; "0" if there are none.
func flagString(names []flagName, flags uint8) string {
	text := ""
	for _, n := range names {
		if flags&n.bit == 0 {
			continue
		}
		if text != "" {
			text += "+"
		}
		text += n.word
		flags &^= n.bit
	}
	if flags != 0 || text == "" {
		if text != "" {
			text += "+"
		}
		text += strconv.Itoa(int(flags))
	}
	return text
}
