"""Abbreviations of English, without their final dot, and words that begin sentences."""

PUNKT_LIKE = frozenset(
    """
    a.c a.d a.m a.s a.t adm ala alex ariz ark assn ave b.c b.f bldg blvd bros c.v calif capt ch chg
    cie co col colo conn corp cos ct d.c d.h d.w dec del dept dr e.f e.h e.l e.m est f.g feb fla
    fri ft g.d g.f g.k ga gen gov h.m.s hon i.m.s ill inc ind j.b j.c j.k j.p j.r jan jr k kan ky l
    l.p la lt ltd m.b.a m.d m.d.c m.j maj mar mb md messrs mg mich minn mon mr mrs ms
    mt n n.c n.d n.h n.j n.m n.v n.y neb nev nov oct okla ore p.a p.m pa penn ph ph.d pp prof pty
    r.h r.i r.j r.k r.t rd rep rev rt s s.a s.c s.g s.p.a sec sen sens sept sgt sr st t.j tenn tex
    treas tues u.k u.n u.s u.s.a u.s.s.r v va vs vt w w.va w.r w.w wed wis wm yr yrs
    """.split()
)
"""What the official splitter, trained on a newspaper, holds for abbreviations, as far as known."""

BEFORE_NAMES = frozenset(
    """
    adm approx ca capt cf dr e.g eq fr gen gov hon i.e lt maj mme messrs mlle mr mrs ms mt mx prof
    rev sen sens sgt sr st viz vs
    """.split()
)
"""Never the end of a sentence: something must follow them."""

BEFORE_NUMBERS = frozenset("art ch col fig figs no nos op p pp ref refs sec vol vols".split())
"""Words that are abbreviations before a number only."""

AT_ENDS = frozenset(
    """
    a.d a.k.a a.m abbr al apr assn aug ave b.c b.sc blvd bros c.e co corp d.c dec dept dist esq est
    etc feb fri ft govt hr hrs ibid inc incl jan jr jul jun lbs ltd m.a m.d m.p.h m.sc n.y nov oct
    p.m p.s ph.d p.p.s q.e.d rd sept thu thurs tue tues u.k u.n u.s u.s.a wed yr yrs
    """.split()
)
"""The end of a sentence only where the next word is one that begins sentences."""

STARTERS = frozenset(
    """
    a about according additionally after all also although an and another any anyone are as at
    because before both but by can despite do does during each either even every everyone finally
    first for from furthermore he her here his how however i if in indeed instead is it its last
    later let like many meanwhile moreover most my neither nevertheless next no nobody none nor not
    nothing now of often on once one only or other others our over overall perhaps please second
    several she should since so some someone something sometimes soon still such than that the
    their then there therefore these they third this those though three through thus to today
    together tomorrow two under unfortunately unless until we well were what when where whether
    which while who whose why will with within without would yes yesterday yet you your
    """.split()
)
"""Words that are seldom names: after an abbreviation, their capital means a new sentence."""
