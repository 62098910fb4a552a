module passerelle

go 1.26
