// Package stat compares configurations by values of whole runs.
package stat
