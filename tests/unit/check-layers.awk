# SPDX-License-Identifier: MIT
#
# The inside of check-layers. Reads, in this order: the table of rooms, the list of sources, the
# symbols of their objects, and the sources themselves. Written for any awk (mawk, busybox).

function complain(text) {
	if (!graph)
		print text
	bad = 1
}

function dir_of(path) {
	return sub(/\/[^\/]*$/, "", path) ? path : "."
}

function unit_of(path) {
	sub(/\.[ch]$/, "", path)
	return path
}

# Whether @room is @pattern; a/* is a and every room below it.
function matches(room, pattern,    stem) {
	if (pattern !~ /\/\*$/)
		return room == pattern
	stem = substr(pattern, 1, length(pattern) - 2)
	return room == stem || index(room, stem "/") == 1
}

function matches_any(room, patterns,    word, n, i) {
	n = split(patterns, word, " ")
	for (i = 1; i <= n; i++)
		if (matches(room, word[i]))
			return 1
	return 0
}

function start_row(room) {
	if (room in is_room)
		complain(FILENAME ":" FNR ": " room " has two rows")
	is_room[room] = 1
	rooms[++n_rooms] = room
}

# The rooms that a row names stand above it, so the table can hold no circle.
function read_uses(room, uses,    word, n, i, j, found) {
	n = split(uses, word, " ")
	for (i = 1; i <= n; i++) {
		found = 0
		for (j = 1; j < n_rooms; j++)
			if (matches(rooms[j], word[i])) {
				may[room, rooms[j]] = 1
				found = 1
			}
		if (!found)
			complain(FILENAME ":" FNR ": " room " may use " word[i] \
				", which has no row above it")
	}
}

FNR == 1 { file_no++ }

# --- the table
file_no == 1 {
	sub(/#.*/, "")
	if (NF == 0)
		next
	key = $1
	if ($0 ~ /^[ \t]/ && n_rooms > 0)
		read_uses(rooms[n_rooms], $0)
	else if (key == "known" && $2 == "circle") {
		known_circle[$3] = $4
		if (NF != 4)
			complain(FILENAME ":" FNR ": not `known circle ROOM UNITS`")
	} else if (key == "known") {
		known[$2, $4] = 1
		if (NF != 4 || $3 != "->")
			complain(FILENAME ":" FNR ": not `known UNIT -> UNIT`")
	} else if (key == "header" || key == "symbol") {
		name = $2
		sub(/:$/, "", name)
		$1 = $2 = ""
		sub(/^ +/, "")
		owner[key, name] = $0
	} else if (key ~ /:$/) {
		$1 = ""
		start_row(substr(key, 1, length(key) - 1))
		read_uses(rooms[n_rooms], $0)
	} else {
		complain(FILENAME ":" FNR ": not a row")
	}
	next
}

# --- the list of sources
file_no == 2 {
	is_source[$1] = 1
	source[++n_sources] = $1
	room = dir_of($1)
	if (!(room in is_room) && !(room in said_no_room)) {
		complain($1 ": its folder has no row in the table of rooms")
		said_no_room[room] = 1
	}
	next
}

# --- symbols: "= DIR", or "object.c.o: symbol type", or "library[object.c.o]: symbol type"
file_no == 3 && $1 == "=" {
	dir = $2
	next
}

file_no == 3 {
	object = $1
	sub(/\]?:$/, "", object)
	sub(/.*[\/\[]/, "", object)
	if (!((dir, object) in source_of_object))
		find_source(dir, object)
	path = source_of_object[dir, object]
	if (path == "")
		next
	library[path] = dir
	has_object[path] = 1
	if ($3 ~ /^[TDBRVWCGSi]$/)
		definers[$2] = definers[$2] " " path
	else if ($3 == "U")
		undefined[++n_undefined] = path " " $2
	n_symbols++
	next
}

# An object is named by its source's path below DIR, with _ for /. None: left from an older build.
function find_source(dir, object,    i, name) {
	source_of_object[dir, object] = ""
	for (i = 1; i <= n_sources; i++) {
		if (index(source[i], dir "/") != 1)
			continue
		name = substr(source[i], length(dir) + 2)
		gsub(/\//, "_", name)
		if (name ".o" == object)
			source_of_object[dir, object] = source[i]
	}
}

# --- the sources
/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
	header = $0
	sub(/^[^<"]*[<"]/, "", header)
	sub(/[>"].*/, "", header)
	where = FILENAME ":" FNR ": "
	if (header ~ /\.\./)
		complain(where "include \"" header "\" by its room, not by a relative path")
	target = resolve(FILENAME, header)
	if (target != "") {
		uses(FILENAME, target, where "includes " header)
		next
	}
	name = header
	sub(/.*\//, "", name)
	may_own("header", name, where "includes " header)
}

# The source that @header names in @path; "": none of ours.
function resolve(path, header,    top) {
	if ((dir_of(path) "/" header) in is_source)
		return dir_of(path) "/" header
	top = path ~ /^fs\// ? "fs" : "tools"
	if ((top "/" header) in is_source)
		return top "/" header
	top = top == "fs" ? "tools" : "fs"
	return (top "/" header) in is_source ? top "/" header : ""
}

function may_own(what, name, how,    path) {
	path = how
	sub(/:.*/, "", path)
	if ((what, name) in owner && !matches_any(dir_of(path), owner[what, name]))
		complain(how ": only " owner[what, name] " may")
}

# @path uses @target, both of them sources; @how: where that is seen.
function uses(path, target, how,    from, to, u, v) {
	from = dir_of(path)
	to = dir_of(target)
	u = unit_of(path)
	v = unit_of(target)
	if (u == v)
		return
	if (from == to) {
		if (!((u, v) in edge))
			next_units[u] = next_units[u] " " v
		edge[u, v] = 1
		is_unit[u] = from
		is_unit[v] = to
		return
	}
	room_edges[from, to]++
	if ((from, to) in may)
		return
	needed[u, v] = 1
	if ((u, v) in known || (u, v) in said_edge)
		return
	complain(how ": " from " may not use " to)
	said_edge[u, v] = 1
}

# Of several files that define @symbol: one of the same library, else one that may be used.
function definer_of(path, symbol,    word, n, i, best) {
	n = split(definers[symbol], word, " ")
	for (i = 1; i <= n; i++)
		if (library[word[i]] == library[path])
			return word[i]
	for (i = 1; i <= n; i++)
		if ((dir_of(path), dir_of(word[i])) in may)
			return word[i]
	return n > 0 ? word[1] : ""
}

function check_symbols(    i, part, target) {
	for (i = 1; i <= n_undefined; i++) {
		split(undefined[i], part, " ")
		target = definer_of(part[1], part[2])
		if (target != "")
			uses(part[1], target, part[1] ": calls " part[2] " of " target)
		else
			may_own("symbol", part[2], part[1] ": calls " part[2])
	}
	if (n_symbols == 0)
		return
	for (i = 1; i <= n_sources; i++)
		if (source[i] ~ /\.c$/ && !(source[i] in has_object))
			complain(source[i] ": none of the libraries given holds its object")
}

# What can be reached from @u, in reach[u, ...].
function walk(u,    stack, top, w, word, n, i) {
	stack[top = 1] = u
	while (top > 0) {
		w = stack[top--]
		n = split(next_units[w], word, " ")
		for (i = 1; i <= n; i++)
			if (!((u, word[i]) in reach)) {
				reach[u, word[i]] = 1
				stack[++top] = word[i]
			}
	}
}

# The circle of which @u is the first: its units, and what ties them.
function circle_from(u, names, n_names,    i, v, n, members, ties, j) {
	for (i = 1; i <= n_names; i++) {
		v = names[i]
		if ((u, v) in reach && (v, u) in reach) {
			members[++n] = v
			in_circle[v] = 1
		}
	}
	if (n > largest[is_unit[u]])
		largest[is_unit[u]] = n
	if (graph ? n < 2 : n <= 4 || is_unit[u] in known_circle && n <= known_circle[is_unit[u]])
		return
	bad = 1
	print is_unit[u] ": a circle of " n " units"
	for (i = 1; i <= n; i++) {
		ties = ""
		for (j = 1; j <= n; j++)
			if ((members[i], members[j]) in edge)
				ties = ties " " substr(members[j], length(is_unit[u]) + 2)
		print "\t" members[i] " ->" ties
	}
}

function check_circles(    u, names, n, i, last) {
	for (i = 1; i <= n_sources; i++) {
		u = unit_of(source[i])
		if (u in is_unit && u != last)
			names[++n] = last = u
	}
	for (i = 1; i <= n; i++)
		walk(names[i])
	for (i = 1; i <= n; i++)
		if (!(names[i] in in_circle) && (names[i], names[i]) in reach)
			circle_from(names[i], names, n)
}

function check_exceptions(    e, part, r) {
	for (e in known)
		if (!(e in needed)) {
			split(e, part, SUBSEP)
			complain("the table of rooms: needed no more: known " part[1] " -> " part[2])
		}
	for (r in known_circle)
		if (largest[r] + 0 != known_circle[r])
			complain("the table of rooms: the largest circle of " r " has " \
				largest[r] + 0 " units, not " known_circle[r])
}

# The graph of rooms, and the exceptions that the table would need as things are.
function print_rooms(    i, j, e, part, r) {
	for (i = 1; i <= n_rooms; i++)
		for (j = 1; j <= n_rooms; j++)
			if ((rooms[i], rooms[j]) in room_edges)
				print rooms[i] " -> " rooms[j] " " room_edges[rooms[i], rooms[j]] \
					(((rooms[i], rooms[j]) in may) ? "" : " (against its row)")
	for (e in needed) {
		split(e, part, SUBSEP)
		print "known " part[1] " -> " part[2]
	}
	for (r in largest)
		if (largest[r] > 4)
			print "known circle " r " " largest[r]
}

END {
	check_symbols()
	check_circles()
	if (graph)
		print_rooms()
	else if (n_symbols > 0)
		check_exceptions()
	exit bad && !graph
}
