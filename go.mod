module github.com/weft-transport/weft

go 1.26
