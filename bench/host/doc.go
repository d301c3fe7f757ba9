// Package host reads facts about the machine that a result depends on, and
// warns of what would spoil a result on it.
//
// [Collect] fills [Facts], which is stored with every run: two results are
// comparable only as far as their facts agree, and [Facts.Diff] says where
// they do not. [Preflight] judges facts and returns findings, each with its
// reason and its mending.
//
// Reading never fails as a whole: a container hides files, another operating
// system has none of them. What could not be read is named in Facts.Unknown.
// Nothing here changes a setting, and nothing runs while a run is measured.
package host
