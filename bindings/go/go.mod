module github.com/headrace/headrace/bindings/go

go 1.24
