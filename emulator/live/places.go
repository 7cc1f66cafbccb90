package live

import (
	"runtime"
	"sync"
)

// Go runs as many threads as there are processors. On a busy machine the system stops some of them for tens of
// milliseconds, with their places among those that run: so that the loop and the devices' threads find places nevertheless,
// there are more while any network is played.
const morePlaces = 4

var places struct {
	mu     sync.Mutex
	users  int
	before int // of GOMAXPROCS
}

func takePlaces() {
	places.mu.Lock()
	defer places.mu.Unlock()
	if places.users++; places.users == 1 {
		places.before = runtime.GOMAXPROCS(0)
		runtime.GOMAXPROCS(places.before + morePlaces)
	}
}

func givePlaces() {
	places.mu.Lock()
	defer places.mu.Unlock()
	if places.users--; places.users == 0 && runtime.GOMAXPROCS(0) == places.before+morePlaces {
		runtime.GOMAXPROCS(places.before)
	}
}
