"""All SQL. One file per aggregate; each offers units of work (plain functions of a `Tx`) and frozen values."""
