#!/usr/bin/env bash
# Tests that must fail: runs the tests with one mistake after the other in the library, and says which test noticed.
#
#     Scripts/mutants.sh              all mistakes; half an hour and more on two cores
#     Scripts/mutants.sh NAME …       only these
#     Scripts/mutants.sh list         what there is
#
# The mistakes stand in the code as `isMutant("NAME")` (Sources/DaybookEngine/Testing/Hooks/Mutant.swift): one build has them all, and
# DAYBOOK_MUTANT wakes one. No other build has any. A run first takes the tests that are likely to notice, then all; it
# ends at the first failure. A test process that dies or hangs (DAYBOOK_MUTANT_SECONDS, 300) has noticed, too, and
# is told apart; all tests together have four times as long. The exit status is 1 when a mistake survives all tests.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
limit=${DAYBOOK_MUTANT_SECONDS:-300}

# NAME, the suites that are likely to notice, what is wrong.
catalogue() {
  cat <<'END'
skip-commit-sync                 CrashTests             a commit is acknowledged without a sync
acknowledge-before-sync          CrashTests             a commit is acknowledged, and synced with the next one
retry-failed-sync                StoreFailureTests      a failed sync is tried again
forget-undurable                 Undurable              after a failed sync that no commit waited for, suspend and close say that all is well
cover-late-frames                ThreadSearch           a sync acknowledges what was written while it was under way
forget-next-leader               ThreadSearch           after a sync nobody is woken of those whom it did not cover
prove-too-much                   CrashTests             a frame says that all before it are durable, synced or not
skip-directory-sync              Create|CrashTests      the first commit of an open does not sync the directory
walk-the-path-again              FilePathTests          each piece of work walks the path of the database's folder again
skip-directory-sync-at-creation  RecordCrashTests       a new file's name is not synced
skip-directory-sync-in-recovery  CreateTests            recovery does not sync the directory
skip-recovery-sync               CrashTests             recovery does not sync what it wrote
skip-recovery-rewrite            StoreFailureTests      recovery takes frames for durable because it can read them
show-unproven-frames             StoreOpeningTests      a reader alone shows frames that nobody made durable
sync-without-rewrite             HandOver|ProcessSearch a reader alone trusts a sync behind another's failed one
publish-before-repair            HandOver|ProcessSearch a takeover shows what a dead writer left before it is durable
open-behind-writer               ReaderOpenTests        a read-only open does not wait for what was acknowledged before it
cut-behind-parts                 TakeBackTests          a reader's version ends behind parts that may be taken back
read-beyond-proof                StoreOpeningTests      a reader beside a writer shows what is not proven durable
accept-file-header-checksum      RecoveryTests          the first page of the file is not verified
accept-frame-header-checksum     RecoveryTests          headers of frames are not verified
accept-payload-checksum          RecoveryTests          payloads of frames are not verified
accept-page-checksum             TreeDamage|Recovery    pages are not verified
accept-body-checksum             FormatTests            bodies of records are not verified
ignore-previous-link             RecoveryTests          a frame need not continue the one before it
ignore-salt                      RecoveryTests          frames of another file pass
ignore-parts-checksum            RecoveryTests          a commit takes any parts that stand before it
replay-unnamed-parts             CrashTests             replay takes parts that no commit names
call-corruption-torn                 RecoveryTests          damaged acknowledged commits are thrown away
forget-a-shape                   ShapeTests             a declaration does not get into its tree
keep-shapes-of-savepoint         ShapeTests             what was rolled back stays in the dictionary
number-for-two                   ShapeDictionaryTests   two declarations have one number
never-repeat-declarations        ShapeTests             no copy of the declarations is written
copy-in-same-block               ShapeDamageTests       a copy of a declaration counts that a damaged block takes with the first
declare-after-bodies             ShapeTests             a compacted file declares what its bodies name after them
build-without-unreadable         IndexTests             an index lacks a record that could not be read, and the call does not say so
enter-unbuilt-versions           IndexTests             a record counts as entered that the build has not come to
drop-index-leave-entries         IndexTests             entries of an index that was dropped stay
build-without-room               IndexTests             a part of an index's build takes the memory that it takes
accept-forked-cursor             QueryTests             a cursor of another history goes on in this one
build-within-replay              DeclaredFactsTests     a replay builds an index whenever it meets the operation
one-shape-for-all                PackedFilterTests      a scan takes the places of fields of one shape for those of all others
keep-read-of-rollback            LastReadTests          after a rollback a save takes what was read of a version that went back
keep-facts-of-rollback           DeclaredFactsTests     after a rollback a transaction has the indexes that went back
end-range-before-equal           IndexQueryTests        "at most" leaves out what is equal
end-at-date-line                 LocationIndexTests     a circle ends where longitudes do
search-some-texts                WordIndexTests         a search in all texts takes the indexes that there are
forget-untold-rows               ObserveTests           a list with a limit does not hear that all of its rows went
forget-many-words                WordIndexTests         a text of more words than count is found by the first of them only
join-former-life                 ShapeTests             a body joins a zone that was made again
salvage-rolled-back-parts        RolledBackParts        a salvage takes what was rolled back for a transaction that has lost its commit
leave-parts-open                 RolledBackParts        where parts stay after a rollback no frame says that they are over
forget-least-length              CutFile                a compacted file, a backup or a salvage that was cut is taken for whole
forget-closed-length             CutFile                a closed file that was cut is taken for whole
number-is-process                ForkedProcessTests     a child that has its parent's number is taken for it
follow-text-of-process           OutputTests            a link of /proc to an open file is followed by its text
narrow-second-names              AssetRightsTests       a planted second name takes rights from a file elsewhere
share-anybodys-content           AssetCopyTests         a backup has the very files that another user has saved
compare-names-exactly            OwnName                a backup takes a name that some volumes take for one of the database's
database-of-any-text             FilePathTests          a path of an open file leads to another file that is called so now
read-any-keys                    SubscriptionLimit      a forged subscription makes as many texts as its bytes can name
copy-every-bit                   FileRights             a copy by root is setuid
leave-roots-leftovers            FolderTests            what root was making when it died keeps a user from his backups
anybody-in-the-group             MadeFolder             a file that its group may write is taken for one that anybody may
give-while-narrowing             AccessTests            a folder that was found gets rights from the database's list that it never gave
list-before-mode                 FileAttributesTests    a list is wider than the mode for the moment before the mode is set
compaction-undoes-chmod          FileRightsTests        a compacted file has rights that were taken away just before it got the name
walk-to-source-again             AssetSourceTests       an import walks to the folder of its input again for each asset
reload-what-is-closed            TurnTests              a write that waited for another file brings a closed database back
replace-without-turn             ThreadSearchTests      a writer finds a compacted file before its readers do
outgrown-goes-back               TurnTests              a reader that opens the file again shows less than before
give-up-unfinished               UnfinishedNameTests    what is made is not made again when another removes it unfinished
sync-out-of-turn                 TurnTests              one who shares the file syncs what another one writes in its turn
forget-deletions-before-zone     ObserveTests           observers miss what was deleted in the commit that deleted its zone
since-in-any-history             SubscriptionTests      a restored file is not told of to a subscription that its last commit had saved
show-in-shared-lineage           CursorStateTests       another process may commit in the lineage of a cursor that was rolled back
keep-lineage-of-rollback         QueryTests             a cursor of a transaction that was rolled back passes for one of the next
mark-as-first-file               FolderMarkTests        a folder is marked as that of the file that was opened first
compaction-takes-over            FileRightsTests        a user who may only write to a database takes it over by compacting it
fill-holes                       AssetSourceTests       a content that is no more than a size fills the disk
names-from-the-end               IndexOrderTests        records of one value come in the wrong order where an index is walked down
cut-long-group                   IndexOrderTests        of many records of one value the first are lost where an index is walked down
any-text-as-element              IndexQueryTests        a part of any text of a list is looked for as an element
take-numbers-for-commits         OthersNoticeTests      commits of a restored file pass for those that had their numbers
trust-made-folder                MadeFolder             a folder that took a made one's place gets the database's rights
salvage-nested-frames            ForgedSalvage          what lies in frames that lie in one another is salvaged once for each
compact-nested-bodies            ForgedBody             a compaction copies bodies that lie in one another, each in full
trust-inline-digest              ForgedBody             a content in its record may have any SHA-256
copy-to-own-name                 OwnName                a backup takes a name that the next open clears
copy-over-source                 OwnName                a backup to NAME removes a database that is called NAME.unfinished
copy-frames-unverified           FrameBackup            a backup gives damaged bytes new checksums
copy-closed-frames               FrameBackup            a backup that died passes for a finished one, and the next is refused
remove-whole-databases           Leftover               a database with the name of a leftover is removed
collect-unmarked                 FolderOwner            a collection empties a folder that does not say whose it is
collect-for-copies               FolderOwner            a copy of a file empties the original's folder
collect-without-name             FolderOwner            a database that has lost its name empties the folder of the one that has it
make-folder-without-name         LostName               a database that has lost its name marks the folder of the one that has it
name-of-any-length               LongName               a database has a name that leaves none for its compactions
withdraw-without-descriptors     FewDescriptors         a backup that ends for want of descriptors leaves what it has made
end-at-unreadable-asset          UnreadableAsset        a check ends at the first asset file that the disk fails to read
end-salvage-at-unreadable-asset  UnreadableAsset        so does a salvage
wait-for-the-next-commit         AssetCollector         a collection that was stopped is forgotten beside a resume
compact-without-mark             FolderOwner            after a compaction the folder is taken for another file's
close-copy-late                  LeftoverPowerLoss      a copy is closed only after it has its name
grow-with-first-page             Leftover               a first page that a full disk cuts leaves a file of any size
finish-before-name               LeftoverPowerLoss      an open says that a file is finished before its name is durable
cut-zeros-before-name            Leftover               a copy says that it is finished before it has its name
leave-moved-folders              Leftover               a copy that died between its two names leaves a folder for ever
remove-similar-names             FolderMark             files with names like ours are removed from a folder of assets
trust-the-date                   FolderMark             a date that is set forward ends grace times
remove-mark-first                CopiedFolder|Leftover  a crash while a copy's folder is removed leaves what nobody removes
skip-mark-sync                   FolderOwner            a folder's mark is not durable before its contents
mark-open-file                   FolderOwner            a folder is marked for the file that was open before another process compacted
keep-unfinished-mark             Leftover|FolderOwner   a finished copy is removed as a leftover, when it gets the name it was made under
remove-small-files               Leftover               a creation of NAME removes any small file that is called NAME.new
keep-unfinished-folders          MovedFolder            folders that a killed process was making stay for ever
remove-marked-folders            CopiedFolder           a backup empties a database's folder that has the name of an unfinished one
copy-into-found-folder           CopiedFolder           a copy goes on in a folder that has taken the place of its own
give-swapped-folder              CopiedFolder           a folder that has taken the place of a copy's gets its name
take-found-folder                CopiedFolder           a copy marks another database's folder as its own
walk-shared-trees                SharedTree             zones that share a large tree are walked one by one
search-each-lost-body            SharedTree             each lost body behind a checkpoint costs a walk over all references
search-budget-per-run            SharedTree             operations on zones between lost bodies give each of them a walk of its own
follow-late-links                NewDatabaseName        a link that takes a database's name after it was looked at is followed
collect-anywhere                 MovedFolder            a collection empties another database's folder that has this one's name
keep-waiting                     AssetCollector         a content that was named again goes without a grace time
find-what-the-disk-refuses       AssetTests             a check calls damaged what it may not open
copy-without-name                CompactionTests        a compaction copies a file that has lost its name
open-half-of-two-files           NewDatabaseName        an open beside a restore says that the work was stopped
read-holes                       SparseFileTests        holes of a file are read, as long as it claims to be
keep-stale-bytes                 RecoveryTests          what is torn is not zeroed
keep-failed-write                StoreFailureTests      what a failed write left is not zeroed
reuse-pinned-page                ProcessSearch          a page that a snapshot holds is used for something else
forget-the-pin                   ProcessSearch          a checkpoint does not keep the pages whose addresses it has
skip-copy-verification           CheckpointPages        corrupt bytes get a new checksum when their page is copied
forget-damaged-page              Checkpoint|Recovery    a checkpoint says nothing of a page that failed its check
change-published-page            StoreModelTests        a page that readers see is changed in place
free-before-savepoint            TreeModelTests         a released savepoint frees pages that others still need
change-published-delta           LeafDelta              so is a delta that readers see
write-leaf-without-delta         LeafDelta|StoreModel   a checkpoint writes the leaf and forgets its delta
keep-merged-leaf                 LeafDelta              a cursor stands on a merged page that its thread uses again
publish-checkpoint-early         CrashTests             a checkpoint's pages are not synced before its frame
checkpoint-before-commits        StoreFailureTests      a checkpoint holds commits that are not synced yet
leave-no-tombstone               DeleteTests            a delete leaves no tombstone
drop-tombstones-early            ZoneTests|ChangeFeed   tombstones beyond the horizon are forgotten, too
skip-inode-check                 StoreOpeningTests      who got the lock does not look whether the name moved
skip-inode-check-at-creation     Create|StoreOpening    two creators may both think that they made the file
free-name-of-empty-file          OpenError              the name of an empty file is free for a moment before the database has it
empty-file-of-anybody            OutputTests            an empty file of another user becomes a database that is that user's
ignore-file-lock                 StoreOpeningTests      a second process writes
trim-under-readers               StoreOpeningTests      the file is cut while somebody maps it
skip-last-commits                Interleaving|Compact   a compaction forgets the commits that came while it was copying
skip-compaction-sync             CrashSearch            the new file takes the name before it is durable
skip-directory-sync-after-compaction StoreCompaction       commits go on in the new file before its name is durable
never-catch-up                   StoreCompaction        commits that come faster than a compaction copies them make it copy without end
compact-without-entries          IndexTests             a compaction forgets the entries of indexes
edge-takes-any-key               TreeModelTests         a key in the middle is put behind the last one
edge-without-fence               TreeModelTests         a key of another leaf is put behind the last one of this
compact-tombstones-away          CompactionTests        a compaction forgets deletions
compact-without-note             Interleaving|Compact   a reader that follows to the new file sees less there
stay-in-old-file                 CompactionTests        a reader does not notice that the file was compacted
hand-over-without-note           TurnTests              the lock is given back without a word of what is durable
skip-inode-check-at-takeover     TurnTests              who takes the lock again writes to a file that has lost its name
forget-lineage                   ForkTests              commits belong to no lineage
skip-asset-directory-sync        AssetCrash             an asset's name is not synced before the commit that refers to it
skip-asset-sync                  AssetCrash             an asset's content is not synced before it gets its name
trust-remade-directory           Asset                  a folder of contents that was made again is taken for durable
unlink-asset-early               AssetCrash             an asset goes before the commit that drops it is durable
skip-asset-relink                AssetCollector         a commit does not look whether a collector took its asset's name
folder-for-each-hold             SharedAssetTests       each content that is held keeps a folder open
hold-by-link-alone               SharedAssetTests       a content that may not be linked cannot be saved again
look-into-every-folder           SharedAssetTests       a stranger's closed folder ends a collection
second-names-stay                SharedAssetTests       a stopped backup leaves contents of others that it has linked
forget-snapshots-assets          AssetCollector         an asset goes that a snapshot sees
miscount-replaced-assets         AssetTests             a record that is replaced still counts for its old assets
accept-asset-content             AssetTests             contents of assets are not compared with their SHA-256
remove-others-files              FolderTests            root removes files of another user under names that it clears
container-by-path                ContainerFolder        a container is that of a path, whatever directory has it by now
replace-any-account              ContainerFolder        whatever has the name of an account is replaced by one
mask-is-group                    AccessTests            with a list, the group's digit of a mode counts as what the group may do
compare-modes-alone              AccessTests            whom a list shuts out of a file reads what was made of it before
trust-overflow-numbers           AccessTests            in a user namespace strangers pass for the database's owner
replace-without-list             OutputTests            an export over a file gives back what the file's list took
descriptor-by-links              OutputTests            a descriptor leads an output into a database's contents
write-into-the-database          OutputTests            a shell leads a stream of the tool into the database
remove-linked-names              Leftover               a database called NAME.new that a snapshot knows is removed
keep-empty-files-of-root         FolderTests            what root was making when it died stops an owner's compactions
hand-out-by-path                 HandedOut              after a rename another user's file is handed out as a content
read-any-note                    FolderMark             a forged list of unreferenced contents is read whole
keep-contents-anywhere           StrangersNameTests     contents are put into another user's folder
follow-any-dangling-link         StrangersNameTests     another user's link says where a database is made
open-any-made-file               StrangersNameTests     what has the name of a copy in the making gets its content
rights-of-the-name               StrangersNameTests     contents get the rights of another file with the database's name
keep-inherited-list              FileRights             copies keep the list of rights that their folder gives
output-keeps-list                FileRights             so do outputs
accept-forked-token              ForkTests              tokens of another lineage pass
forget-cascade                   CascadeTests           what belongs to a deleted record stays
cascade-one-level                CascadeTests           what belongs to a victim stays
keep-old-references              ReferenceTests         a record still points where it pointed before
replay-first-of-key              ReplayTests            replay keeps the first value of a key, not the last
replay-first-of-record           ReplayTests            replay keeps the first version of a record, not the last
replay-any-type                  ReplayTests            replay takes a version of another type than the record's
feed-type-by-type                ManyTypes              a feed has the changes of one type after those of another
skip-between-pages               CountTests             the page behind a cursor of a type begins one record too late
accept-other-source              AssetSourceTests       another file is read in the place of an asset's
files-take-all                   AddressSpaceTests      where addresses seemed enough at first, files take the last of them
cache-takes-all                  AddressSpaceTests      a page cache takes the addresses that allocations need
name-before-owner                FolderTests            a file gets its name before its owner
mode-not-kept                    FileRightsTests        a compacted file has the rights of any new file
output-rights-not-kept           OutputTests            an export of a private database is for everybody
output-follows-any-link          OutputTests|Hostile    an export goes where a link of another user leads (as root)
link-not-resolved                FilePathTests          a compaction replaces a symbolic link by a file
close-under-sync                 FileLock|ProcessSearch a file is closed beside a sync that another thread has asked for
lock-not-taken                   Opening|ProcessSearch  a reader does not say that it reads
replay-under-lock                StoreOpening|TurnTests a reader keeps writers out while it replays
standard-descriptor              DiskTests              a database file gets the number of standard error
accept-missing-targets           ReferenceTests         a parent that is not there is accepted
END
}

if [ "${1:-}" = list ]; then
  catalogue
  exit
fi
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  while read -r name; do names+=("$name"); done < <(catalogue | awk '{ print $1 }')
fi

# The catalogue and the code say the same.
difference=$(diff <(catalogue | awk '{ print $1 }' | sort) \
  <(grep -rhoE 'isMutant\("[a-z-]+"\)' Sources --include='*.swift' --exclude=Mutant.swift | sed 's/.*"\(.*\)".*/\1/' | sort -u))
[ -z "$difference" ] || { echo "the catalogue (<) and the code (>) differ:"; echo "$difference"; exit 2; }

scratch=(--scratch-path .build/mutants -Xswiftc -DMUTANTS)
swift build --build-tests "${scratch[@]}" >/dev/null || exit 2
program=$(swift build --build-tests "${scratch[@]}" --show-bin-path)/DaybookPackageTests.xctest
work=$(mktemp -d)
tests=
trap '[ -n "$tests" ] && kill -9 -- "-$tests" 2>/dev/null; rm -rf "$work"' EXIT

# Where the tests are a program, without the package manager, which takes longer than most of them.
run_tests() { # ARGUMENT …
  if [ -f "$program" ]; then
    "$program" --testing-library swift-testing "$@"
  else
    swift test --skip-build "${scratch[@]}" "$@"
  fi
}

# Runs some tests until the first failure. Leaves in `verdict` what noticed; empty when nothing did.
look() { # MUTANT ARGUMENT …
  local mutant=$1 start=$SECONDS status failed longest=$limit
  [ $# -gt 1 ] || longest=$((4 * limit))
  shift
  verdict=
  # A process group of its own, so that children of tests end with it.
  # The program may begin to write only after the first look at what it has written.
  : >"$work/log"
  set -m
  DAYBOOK_MUTANT=$mutant run_tests "$@" >"$work/log" 2>&1 &
  tests=$!
  set +m
  while kill -0 "$tests" 2>/dev/null; do
    if grep -qE '✘ Test .* recorded an issue' "$work/log"; then break; fi
    if [ $((SECONDS - start)) -ge "$longest" ]; then
      verdict="a hang: tests that run after $longest s"
      break
    fi
    sleep 0.3
  done
  kill -9 -- "-$tests" 2>/dev/null
  wait "$tests" 2>/dev/null
  status=$?
  tests=
  failed=$(grep -m1 -E '✘ Test .* recorded an issue' "$work/log" |
    sed -E 's/.*✘ Test (.*) recorded an issue.* at ([A-Za-z+]+\.swift:[0-9]+).*/\1 (\2)/')
  if [ -n "$failed" ]; then
    verdict=$failed
  elif [ -z "$verdict" ] && [ "$status" != 0 ] && grep -qE '◇ (Suite|Test ")' "$work/log"; then
    verdict="the death of the test process: $(grep -m1 -E 'Fatal error|signal|crash' "$work/log" | cut -c1-100)"
  fi
  if [ -z "$verdict" ] && ! grep -qE 'Test run with [1-9][0-9]* tests?' "$work/log"; then
    echo "mutant $mutant: no test was run"
    tail -n 5 "$work/log"
    exit 2
  fi
}

# Where they fail without a mistake, their failing says nothing.
if [ $# = 0 ]; then
  look none
  [ -z "$verdict" ] || { echo "the tests fail without a mistake: $verdict"; exit 2; }
fi
caught=0 survived=()
for name in "${names[@]}"; do
  suites=$(catalogue | awk -v n="$name" '$1 == n { print $2 }')
  [ -n "$suites" ] || { echo "there is no mutant $name"; exit 2; }
  start=$SECONDS
  look "$name" --filter "$suites"
  [ -n "$verdict" ] || look "$name"
  if [ -n "$verdict" ]; then
    caught=$((caught + 1))
    echo "mutant $name caught by $verdict, after $((SECONDS - start)) s"
  else
    survived+=("$name")
    echo "mutant $name SURVIVED all tests"
  fi
done
echo "${#names[@]} mutants, $caught caught, ${#survived[@]} survived${survived[*]:+: ${survived[*]}}"
[ ${#survived[@]} = 0 ]
