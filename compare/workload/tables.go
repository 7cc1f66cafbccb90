package workload

func isTable(string) bool { return false }
