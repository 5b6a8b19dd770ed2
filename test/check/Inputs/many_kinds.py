"""Prints an algorithm with a kind of launch for each number `k`: most tell all ranks of each other, two fill `b`, the one
that comes before them or behind, and the launch between them is the one that the argument says."""
import sys

FIRST, BETWEEN, LAST, KINDS = 12, 13, 15, 22

print('''coll 1
collective same<T in {f32}>(in x: T[M], in k: u32, out y: T[M]) replicated(x)
  ensures y == x

algorithm a for same on lsa(6) when bytes <= 64Ki {
  mailbox b of T[M] sync ll reuse double_buffer depth 2
  mailbox there of T[M] sync ll
  mailbox back of T[M] sync ll
  var a = x''')
for k in range(KINDS):
    if k not in (FIRST, BETWEEN, LAST):
        print(f'  if k == {k} {{ for t in 1 .. {k + 1}: barrier }}')
print(f'''  if k >= {KINDS} {{ for t in 1 .. 600: barrier }}
  if k == {BETWEEN} {{''')
if sys.argv[1] == 'others':  # ranks 2 and 3, 4 and 5, of each other
    print('''    if me == 2 or me == 4: a -> (me + 1).there
    if me == 3 or me == 5 {
      a = there
      a -> (me - 1).back
    }
    if me == 2 or me == 4: a = back''')
else:
    print('    barrier')
print(f'''  }}
  if k == {FIRST}: barrier
  if k == {FIRST} or k == {LAST} {{
    if me == 0: a -> (1 as rank).b
    if me == 1: a = b
  }}
  if k == {LAST}: barrier
  y = a
}}''')
