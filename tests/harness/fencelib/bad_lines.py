# SPDX-License-Identifier: MIT
"""Lines that ctl refuses, and does nothing of: each with its exact reply ("…": the rest grows)."""

KNOWN = "known verbs: hello claim open expect commit abort outcome put remove …"
TOKEN = "a token is a decimal number without sign or leading zeros"
LARGEST = "a token is at most 9223372036854775807"
PATH = 'a path is relative to the mount\'s root and has no ".."; the root is "."'
LENGTH = "a name has at most 255 bytes, a path 4096"
SPACES = "two spaces in a row, or one at an end; a space in a value is %20"
VERB = "a request begins with a verb in lower-case letters"
PAIR = "is not key=value; a space in a value is %20"
PERCENT = '"%" needs two hex digits (a plain one is %25)'
DURATION = "ttl= is a duration such as 30s, 10m, 1h30m"
SPAN = "ttl= is from 1ms to 3650d"
HASH = "hash= is 32 lower-case hex digits (XXH3-128)"
ONE_OF = "give one of version=, absent=1, hash="
SESSION = "give session=, or path= and op="
AFTER = "after= is the id of the last record that was read"
KIND = "kind= is …"
NO_LEASE = "there is no live lease with token 4 on p: it has expired or was released; acquire it again"
MODE = "mode= is octal permission bits, 0 to 7777"

BAD_LINES = [
    # the line itself
    (b"", "err EINVAL # empty line; a request is: verb key=value ..."),
    (b" ", f"err EINVAL # {VERB}"),
    (b"  ", f"err EINVAL # {VERB}"),
    (b"\r", "err EINVAL # the line ends with CR LF; end it with LF alone"),
    (b"\t", "err EINVAL # a TAB in the line; write it as %09"),
    (b"\x00", "err EINVAL # a NUL byte in the line"),
    (b" hello", f"err EINVAL # {VERB}"),
    (b"hello ", f"err EINVAL # {SPACES}"),
    (b"hello  proto=1", f"err EINVAL # {SPACES}"),
    (b"hello proto=1 ", f"err EINVAL # {SPACES}"),
    (b"HELLO", f"err EINVAL # {VERB}"),
    (b"Hello", f"err EINVAL # {VERB}"),
    (b"hello\r", "err EINVAL # the line ends with CR LF; end it with LF alone"),
    (b"hello\x00", "err EINVAL # a NUL byte in the line"),
    (b"hello\tproto=1", "err EINVAL # a TAB in the line; write it as %09"),
    (b"claim path=p token=4\r", "err EINVAL # the line ends with CR LF; end it with LF alone"),
    (b"claim path=p\x00 token=4", "err EINVAL # a NUL byte in the line"),
    (b"claim path=p token=4\x00", "err EINVAL # a NUL byte in the line"),
    (b"claim path=p token=4\x00junk", "err EINVAL # a NUL byte in the line"),
    (b"claim\rpath=p token=4", "err EINVAL # a CR in the line; write it as %0D"),
    (b"claim path=p\rq token=4", "err EINVAL # a CR in the line; write it as %0D"),
    # verbs
    (b"frobnicate", f"err EOPNOTSUPP key=verb value=frobnicate # {KNOWN}"),
    (b"frobnicate path=p", f"err EOPNOTSUPP key=verb value=frobnicate # {KNOWN}"),
    (b"hello!", f"err EINVAL # {VERB}"),
    (b"=", f"err EINVAL # {VERB}"),
    (b"=x", f"err EINVAL # {VERB}"),
    (b"path=p", f"err EINVAL # {VERB}"),
    (b"\xff\xfe", f"err EINVAL # {VERB}"),
    (b"h\xc3\xa4llo", f"err EINVAL # {VERB}"),
    (b"claim;", f"err EINVAL # {VERB}"),
    (b'{"verb":"hello"}', f"err EINVAL # {VERB}"),
    (b"#hello", f"err EINVAL # {VERB}"),
    # keys
    (b"hello proto=2", "err EPROTONOSUPPORT proto=2 # this fencefs speaks proto=1"),
    (b"hello proto=", "err EPROTONOSUPPORT # this fencefs speaks proto=1"),
    (b"hello proto", f'err EINVAL key=proto # "proto" {PAIR}'),
    (b"hello proto=1 proto=1", "err EINVAL key=proto # proto= is given twice"),
    (b"hello x=1", "err EINVAL key=x # hello knows no key x="),
    (b"claim", "err EINVAL key=path # claim needs path="),
    (b"claim path=p", "err EINVAL key=token # claim needs token="),
    (b"claim token=4", "err EINVAL key=path # claim needs path="),
    (b"claim p 4", f'err EINVAL key=p # "p" {PAIR}'),
    (b"claim path", f'err EINVAL key=path # "path" {PAIR}'),
    (b"claim path= token=4", f"err EINVAL key=path # {PATH}"),
    (b"claim path=p token=4 path=q", "err EINVAL key=path # path= is given twice"),
    (b"claim path=p token=4 token=4", "err EINVAL key=token # token= is given twice"),
    (b"claim path=p token=4 colour=red", "err EINVAL key=colour # claim knows no key colour="),
    (b"claim path=p token=4 PATH=p", 'err EINVAL # a key is lower-case letters; "PATH" is not'),
    (b"claim path=p token=4 =x", 'err EINVAL # a key is lower-case letters; "" is not'),
    (b"claim path=p token=4 x", f'err EINVAL key=x # "x" {PAIR}'),
    (b"claim path=p token==4", f"err EINVAL key=token value==4 # {TOKEN}"),
    (b"claim path=p  token=4", f"err EINVAL # {SPACES}"),
    (b"claim path=p token=4 keep=1", "err EINVAL key=keep # claim knows no key keep="),
    # tokens
    (b"claim path=p token=-1", f"err EINVAL key=token value=-1 # {TOKEN}"),
    (b"claim path=p token=034", f"err EINVAL key=token value=034 # {TOKEN}"),
    (b"claim path=p token=+4", f"err EINVAL key=token value=+4 # {TOKEN}"),
    (b"claim path=p token=", f"err EINVAL key=token # {TOKEN}"),
    (
        b"claim path=p token=9223372036854775808",
        f"err ERANGE key=token value=9223372036854775808 # {LARGEST}",
    ),
    (
        b"claim path=p token=18446744073709551616",
        f"err ERANGE key=token value=18446744073709551616 # {LARGEST}",
    ),
    (b"claim path=p token=1e3", f"err EINVAL key=token value=1e3 # {TOKEN}"),
    (b"claim path=p token=0x10", f"err EINVAL key=token value=0x10 # {TOKEN}"),
    (b"claim path=p token=4.0", f"err EINVAL key=token value=4.0 # {TOKEN}"),
    (b"claim path=p token=4,5", f"err EINVAL key=token value=4,5 # {TOKEN}"),
    (b"claim path=p token=00", f"err EINVAL key=token value=00 # {TOKEN}"),
    (b"claim path=p token=%2B4", f"err EINVAL key=token value=+4 # {TOKEN}"),
    (b"claim path=p token=4%20", f"err EINVAL key=token value=4%20 # {TOKEN}"),
    (
        b"claim path=p token=99999999999999999999999999999999999999999999999999",
        f"err ERANGE key=token value=99999999999999999999999999999999999999999999999999 # {LARGEST}",
    ),
    (b"claim path=p token=\xd9\xa4", f"err EINVAL key=token value=٤ # {TOKEN}"),
    (b'claim path=p token="4"', f'err EINVAL key=token value="4" # {TOKEN}'),
    # paths
    (b"claim path=a%00b token=4", "err EINVAL key=path # %00 is refused: no name contains NUL"),
    (b"claim path=a%0 token=4", f"err EINVAL key=path # {PERCENT}"),
    (b"claim path=a% token=4", f"err EINVAL key=path # {PERCENT}"),
    (b"claim path=a%zz token=4", f"err EINVAL key=path # {PERCENT}"),
    (b"claim path=100% token=4", f"err EINVAL key=path # {PERCENT}"),
    (b"claim path=.. token=4", f"err EINVAL key=path value=.. # {PATH}"),
    (b"claim path=a/.. token=4", f"err EINVAL key=path value=a/.. # {PATH}"),
    (b"claim path=a/../b token=4", f"err EINVAL key=path value=a/../b # {PATH}"),
    (b"claim path=../../etc token=4", f"err EINVAL key=path value=../../etc # {PATH}"),
    (b"claim path=%2e%2e/x token=4", f"err EINVAL key=path value=../x # {PATH}"),
    (b"claim path=.fence token=4", "err EPERM key=path value=.fence # the name .fence is reserved"),
    (
        b"claim path=.fence/ctl token=4",
        "err EPERM key=path value=.fence/ctl # the name .fence is reserved",
    ),
    (
        b"claim path=/.fence/sessions/x token=4",
        "err EPERM key=path value=/.fence/sessions/x # the name .fence is reserved",
    ),
    (b"claim path=./.fence token=4", "err EPERM key=path value=./.fence # the name .fence is reserved"),
    (b"claim path=/ token=4 x=1", "err EINVAL key=x # claim knows no key x="),
    (
        b"claim path=" + b"n" * 256 + b" token=4",
        "err ENAMETOOLONG key=path value=" + "n" * 127 + f" # {LENGTH}",
    ),
    (
        b"claim path=a/" + b"n" * 256 + b"/b token=4",
        "err ENAMETOOLONG key=path value=a/" + "n" * 125 + f" # {LENGTH}",
    ),
    (
        b"claim path=" + b"d/" * 2048 + b"x token=4",
        "err ENAMETOOLONG key=path value=" + "d/" * 63 + f"d # {LENGTH}",
    ),
    # owners
    (b"claim path=p token=4 owner=", "err EINVAL key=owner # owner= has 1 to 255 bytes"),
    (b"claim path=p token=4 owner=a%0Ab", "err EINVAL key=owner # owner= has a control character"),
    (b"claim path=p token=4 owner=a%07b", "err EINVAL key=owner # owner= has a control character"),
    (
        b"claim path=p token=4 owner=" + b"o" * 256,
        "err EINVAL key=owner value=" + "o" * 127 + " # owner= has 1 to 255 bytes",
    ),
    (b"claim path=p token=4 owner=two words", f'err EINVAL key=words # "words" {PAIR}'),
    # open
    (b"open", "err EINVAL key=path # open needs path="),
    (b"open path=p token=4 keep=2", "err EINVAL key=keep value=2 # keep= is 1 or 0"),
    (b"open path=p token=4 keep=", "err EINVAL key=keep # keep= is 1 or 0"),
    (b"open path=p token=4 keep=yes", "err EINVAL key=keep value=yes # keep= is 1 or 0"),
    (
        b"open path=p token=4 exclusive=true",
        "err EINVAL key=exclusive value=true # exclusive= is 1 or 0",
    ),
    (b"open path=p token=4 parents=01", "err EINVAL key=parents value=01 # parents= is 1 or 0"),
    (b"open path=p token=4 keep=1 ttl=", f"err EINVAL key=ttl # {DURATION}"),
    (b"open path=p token=4 keep=1 ttl=0", f"err ERANGE key=ttl value=0 # {SPAN}"),
    (b"open path=p token=4 keep=1 ttl=0s", f"err ERANGE key=ttl value=0s # {SPAN}"),
    (b"open path=p token=4 keep=1 ttl=-1s", f"err EINVAL key=ttl value=-1s # {DURATION}"),
    (b"open path=p token=4 keep=1 ttl=1x", f"err EINVAL key=ttl value=1x # {DURATION}"),
    (b"open path=p token=4 keep=1 ttl=1.5h", f"err EINVAL key=ttl value=1.5h # {DURATION}"),
    (b"open path=p token=4 keep=1 ttl=4000d", f"err ERANGE key=ttl value=4000d # {SPAN}"),
    (
        b"open path=p token=4 keep=1 ttl=99999999999999999999s",
        f"err ERANGE key=ttl value=99999999999999999999s # {SPAN}",
    ),
    (b"open path=p token=4 keep=1 ttl=1h30", f"err EINVAL key=ttl value=1h30 # {DURATION}"),
    (b"open path=p token=4 keep=1 ttl=h", f"err EINVAL key=ttl value=h # {DURATION}"),
    (
        b"open path=no/parent token=4",
        "err ENOENT key=path value=no/parent # a directory above this path is missing; parents=1 makes it",
    ),
    # expect
    (b"expect path=p", f"err EINVAL # {ONE_OF}"),
    (b"expect path=p version=1", "err ENOENT key=session # no session is open in this conversation"),
    (b"expect version=1", "err EINVAL key=path # expect needs path="),
    (b"expect path=p version=1 absent=1", f"err EINVAL # {ONE_OF}"),
    (b"expect path=p absent=0", "err EINVAL key=absent value=0 # absent= must be 1 or be left out"),
    (b"expect path=p absent=", "err EINVAL key=absent # absent= is 1 or 0"),
    (b"expect path=p hash=xyz", f"err EINVAL key=hash value=xyz # {HASH}"),
    (b"expect path=p hash=", f"err EINVAL key=hash # {HASH}"),
    (
        b"expect path=p hash=0123456789ABCDEF0123456789ABCDEF",
        f"err EINVAL key=hash value=0123456789ABCDEF0123456789ABCDEF # {HASH}",
    ),
    (
        b"expect path=p hash=0123456789abcdef0123456789abcdef0",
        f"err EINVAL key=hash value=0123456789abcdef0123456789abcdef0 # {HASH}",
    ),
    (
        b"expect path=p version=-1",
        "err EINVAL key=version value=-1 # version= is a decimal number without sign or leading zeros",
    ),
    (
        b"expect path=p version=x",
        "err EINVAL key=version value=x # version= is a decimal number without sign or leading zeros",
    ),
    (
        b"expect path=p version=9223372036854775808",
        "err ERANGE key=version value=9223372036854775808 # version= is at most 9223372036854775807",
    ),
    (b"expect session=x path=p version=1", "err ENOENT key=session value=x # no such session is open"),
    (
        b"expect session=00000000000000000000000000000000 path=p version=1",
        "err ENOENT key=session value=00000000000000000000000000000000 # no such session is open",
    ),
    # commit and abort
    (b"commit", "err ENOENT key=session # no session is open in this conversation"),
    (b"commit session=", "err ENOENT # no such session"),
    (b"commit session=x", "err ENOENT session=x # no such session"),
    (
        b"commit session=00000000000000000000000000000000",
        "err ENOENT session=00000000000000000000000000000000 # no such session",
    ),
    (b"commit op=", "err EINVAL key=op # op= has 1 to 255 bytes"),
    (b"commit op=" + b"k" * 256, "err EINVAL key=op value=" + "k" * 127 + " # op= has 1 to 255 bytes"),
    (
        b"commit seq=-1",
        "err EINVAL key=seq value=-1 # seq= is a decimal number without sign or leading zeros",
    ),
    (
        b"commit seq=x",
        "err EINVAL key=seq value=x # seq= is a decimal number without sign or leading zeros",
    ),
    (
        b"commit seq=9223372036854775808",
        "err ERANGE key=seq value=9223372036854775808 # seq= is at most 9223372036854775807",
    ),
    (b"commit once=2", "err EINVAL key=once value=2 # once= is 1 or 0"),
    (b"commit path=p", "err EINVAL key=path # commit knows no key path="),
    (b"abort", "err ENOENT key=session # no session is open in this conversation"),
    (
        b"abort session=00000000000000000000000000000000",
        "err ENOENT key=session value=00000000000000000000000000000000 # no such session is open",
    ),
    (b"abort op=k", "err EINVAL key=op # abort knows no key op="),
    # outcome
    (b"outcome", f"err EINVAL # {SESSION}"),
    (b"outcome path=p", f"err EINVAL # {SESSION}"),
    (b"outcome op=k", f"err EINVAL # {SESSION}"),
    (b"outcome session=00000000000000000000000000000000 path=p op=k", f"err EINVAL # {SESSION}"),
    (b"outcome path=p op=", "err EINVAL key=op # op= has 1 to 255 bytes"),
    (b"outcome path=.. op=k", f"err EINVAL key=path value=.. # {PATH}"),
    # remove, stat, list, reset
    (b"remove", "err EINVAL key=path # remove needs path="),
    (b"remove path=p", "err EINVAL key=token # remove needs token="),
    (b"remove path=none token=4", "err ENOENT path=none token=4 # there is nothing at this path"),
    (b"remove path=. token=4", "err EINVAL key=path value=. # the root cannot be put or removed"),
    (b"remove path=p token=-1", f"err EINVAL key=token value=-1 # {TOKEN}"),
    (
        b"remove path=p token=4 version=x",
        "err EINVAL key=version value=x # version= is a decimal number without sign or leading zeros",
    ),
    (b"remove path=p token=4 absent=1", "err EINVAL key=absent # remove knows no key absent="),
    (b"stat", "err EINVAL key=path # stat needs path="),
    (b"stat path=", f"err EINVAL key=path # {PATH}"),
    (b"stat path=..", f"err EINVAL key=path value=.. # {PATH}"),
    (b"stat path=p token=4", "err EINVAL key=token # stat knows no key token="),
    (b"stat p", f'err EINVAL key=p # "p" {PAIR}'),
    (b"list", "err EINVAL key=kind # list needs kind="),
    (b"list kind=", f"err EINVAL key=kind # {KIND}"),
    (b"list kind=everything", f"err EINVAL key=kind value=everything # {KIND}"),
    (b"list kind=version", f"err EINVAL key=kind value=version # {KIND}"),
    (b"list kind=reject after=x", f"err EINVAL after=x # {AFTER}"),
    (b"list kind=reject after=-1", f"err EINVAL after=-1 # {AFTER}"),
    (b"list kind=version path=p after=1e3", f"err EINVAL after=1e3 # {AFTER}"),
    (b"list kind=reject path=..", f"err EINVAL key=path value=.. # {PATH}"),
    (b"reset", "err EINVAL key=path # reset needs path="),
    (b"reset path=p", "err EINVAL key=token # reset needs token="),
    (b"reset path=p token=-1", f"err EINVAL key=token value=-1 # {TOKEN}"),
    (b"reset path=.fence token=4", "err EPERM key=path value=.fence # the name .fence is reserved"),
    # leases and versions
    (b"acquire", "err EINVAL key=path # acquire needs path="),
    (b"acquire path=p", "err EINVAL key=ttl # acquire needs ttl="),
    (b"acquire ttl=30s", "err EINVAL key=path # acquire needs path="),
    (b"acquire path=p ttl=", f"err EINVAL key=ttl # {DURATION}"),
    (b"acquire path=p ttl=0s", f"err ERANGE key=ttl value=0s # {SPAN}"),
    (b"acquire path=p ttl=-5s", f"err EINVAL key=ttl value=-5s # {DURATION}"),
    (b"acquire path=p ttl=4000d", f"err ERANGE key=ttl value=4000d # {SPAN}"),
    (
        b"acquire path=p ttl=30s wait=x",
        "err EINVAL key=wait value=x # wait= is a duration such as 30s, 10m, 1h30m",
    ),
    (b"acquire path=p ttl=30s token=4", "err EINVAL key=token # acquire knows no key token="),
    (b"acquire path=p ttl=30s keep=2", "err EINVAL key=keep value=2 # keep= is 1 or 0"),
    (b"acquire path=.. ttl=30s", f"err EINVAL key=path value=.. # {PATH}"),
    (b"acquire path=p ttl=30s owner=", "err EINVAL key=owner # owner= has 1 to 255 bytes"),
    (b"renew", "err EINVAL key=path # renew needs path="),
    (b"renew path=p", "err EINVAL key=token # renew needs token="),
    (b"renew path=p token=-1", f"err EINVAL key=token value=-1 # {TOKEN}"),
    (
        b"renew path=p token=4",
        f"err ETIME path=p token=4 # {NO_LEASE}",
    ),
    (b"renew path=p token=4 ttl=x", f"err EINVAL key=ttl value=x # {DURATION}"),
    (b"release path=p", "err EINVAL key=token # release needs token="),
    (b"release path=p token=1e3", f"err EINVAL key=token value=1e3 # {TOKEN}"),
    (
        b"release path=p token=4",
        f"err ETIME path=p token=4 # {NO_LEASE}",
    ),
    (
        b"release path=p token=4 owner=x",
        f"err ETIME path=p token=4 # {NO_LEASE}",
    ),
    (b"restore", "err EINVAL key=path # restore needs path="),
    (b"restore path=p token=4", "err EINVAL key=version # restore needs version="),
    (
        b"restore path=p token=4 version=1",
        "err ENOENT path=p token=4 # this path has no such version, or gc has removed it",
    ),
    (
        b"restore path=p token=4 version=1 revision=1",
        "err EINVAL key=revision # restore knows no key revision=",
    ),
    (b"restore path=p token=-1 version=1", f"err EINVAL key=token value=-1 # {TOKEN}"),
    (b"at time=x", "err EINVAL time=x # time= is seconds since 1970, such as 1764500000.25"),
    (b"at time=-1", "err EINVAL time=-1 # time= is seconds since 1970, such as 1764500000.25"),
    (b"list kind=event after=x", f"err EINVAL after=x # {AFTER}"),
    (b"list kind=lease path=..", f"err EINVAL key=path value=.. # {PATH}"),
    (
        b"acquire path=p ttl=30s wait=-1s",
        "err EINVAL key=wait value=-1s # wait= is a duration such as 30s, 10m, 1h30m",
    ),
    # put
    (b"put path=p token=4 mode=8 size=0", f"err EINVAL key=mode value=8 # {MODE}"),
    (b"put path=p token=4 mode= size=0", f"err EINVAL key=mode # {MODE}"),
    (b"put path=p token=4 mode=10000 size=0", f"err EINVAL key=mode value=10000 # {MODE}"),
    (b"put path=p token=4 mode=-1 size=0", f"err EINVAL key=mode value=-1 # {MODE}"),
    (b"put path=. token=4 size=0", "err EINVAL key=path value=. # the root cannot be put or removed"),
    (b"put path=p token=4 size=0 version=1 absent=1", f"err EINVAL # {ONE_OF}"),
    (b"put path=p token=4 size=0 seq=1", "err EINVAL key=seq # put knows no key seq="),
    (b"put path=p token=4 size=0 absent=0", "err EINVAL key=absent value=0 # absent= must be 1 or be left out"),
    (b"put path=p token=4 size=0 once=", "err EINVAL key=once # once= is 1 or 0"),
    (b"put path=p token=4 size=0 version=5", "err ECANCELED path=p token=4 # p does not exist"),
]


def is_reply(got: bytes, want: str) -> bool:
    """Whether the line @got is the reply @want of the table."""
    head, grows, _ = want.partition("…")
    return got.startswith(head.encode()) if grows else got == want.encode() + b"\n"
