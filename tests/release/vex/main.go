// Reads an OpenVEX file with go-vex, OpenVEX's own library, as a scanner does: each statement must be valid, and asking
// for each of its products and libraries must give its answer, which is "not affected".
//
//	vex FILE HOLE...
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/openvex/go-vex/pkg/vex"
)

func check(name string, holes []string) error {
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	// Open() lets fields pass that it does not know.
	strict := json.NewDecoder(strings.NewReader(string(raw)))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&vex.VEX{}); err != nil {
		return err
	}
	document, err := vex.Open(name)
	if err != nil {
		return err
	}
	if len(document.Statements) != len(holes) {
		return fmt.Errorf("%d statements about %d holes", len(document.Statements), len(holes))
	}
	for number, statement := range document.Statements {
		if err := statement.Validate(); err != nil {
			return err
		}
		for _, product := range statement.Products {
			for _, library := range product.Subcomponents {
				found := document.Matches(holes[number], product.ID, []string{library.ID})
				if len(found) != 1 || found[0].Status != vex.StatusNotAffected {
					return fmt.Errorf("%s in %s of %s: %v", holes[number], library.ID, product.ID, found)
				}
				fmt.Println(holes[number], product.ID, library.ID, found[0].Status)
			}
		}
	}
	return nil
}

func main() {
	if err := check(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "vex:", err)
		os.Exit(1)
	}
}
