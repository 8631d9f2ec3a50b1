"""Whether an English word can be a verb: a list of base forms, their endings, irregular forms."""

from collections.abc import Sequence

_BASES = frozenset(
    """
    accelerate accept access accommodate accompany account achieve acquire act activate adapt add
    address adjust administer admire admit adopt advance advertise advise advocate afford agree
    aim allocate allow allude amplify analyse analyze anchor animate announce answer anticipate
    apologize appeal appear apply appoint appreciate approach approve argue arise arm arouse
    arrange arrive articulate ascend ask aspire assemble assert assess assign assimilate assist
    assume assure astonish attach attack attain attempt attend attract attribute audit automate
    avoid awaken backtrack bake balance ban base batch bathe be beam bear beat become beg begin
    behave behold believe belong benchmark bend benefit bet bind bite blame blend bless blink
    blossom blow board boast boil bolster bond book boost borrow bounce bow brace brainstorm break
    breathe breed brew brighten bring broadcast broaden browse brush bubble build bundle burn
    burst buy bypass calculate calibrate call calm camp cancel capture care carry carve cast catch
    cause caution cease celebrate challenge change chant characterize charge chart chase chat
    check cheer cherish choose chop chuckle circle circulate cite claim clap clarify classify
    clean clear click climb cling clone close clothe cluster coach code collaborate collapse
    collect collide color combine come comfort command commence comment commit communicate compare
    compel compensate compete compile complain complete compose comprehend compress compute
    conceal concede conceive concentrate concern conclude condense conduct confess configure
    confine confirm conform confront confuse congratulate conjure connect conquer conserve
    consider consist console consolidate construct consult consume contact contain contemplate
    contend contest continue contradict contrast contribute control convene converge converse
    convert convey convince cook cool cooperate coordinate cope copy corner correct counsel count
    cover crack cradle craft crash crave crawl create criticize crop cross cruise crush cry
    cultivate cure curl customize cut cycle damage dance dare dash dazzle deal debate debug
    deceive decide declare decline decode decorate decrease dedicate deduce deepen defeat defend
    defer define deflect defy delay delegate delete delight delineate deliver delve demand
    demonstrate demystify denote deny depend depict deploy deposit derive descend describe deserve
    design designate desire destroy detach detail detect deteriorate determine develop devise
    devote diagnose dictate die differ differentiate diffuse dig digest diminish dine dip direct
    disagree disappear discard discern disclose discourage discover discriminate discuss disguise
    dismiss disperse display dispose dispute disrupt dissolve distill distinguish distract
    distribute disturb dive diversify divide do document dodge dominate donate dot double doubt
    download draft drag draw dread dream drench dress drift drill drink drip drive drop dry
    duplicate dwell earn ease eat echo edit educate elaborate elevate elicit eliminate elongate
    emanate embark embed embody embrace emerge emit emphasize employ empower emulate enable
    encapsulate enclose encompass encounter encourage end endorse endure enforce engage enhance
    enjoy enlarge enlighten enlist enrich ensue ensure entail entangle enter entertain entice
    entitle entrust enumerate envelop envision equip erase erect erode erupt escape establish
    estimate evade evaluate evoke evolve exaggerate examine exceed excel exchange exclude excuse
    execute exercise exert exhale exhaust exhibit exist expand expect experience experiment expire
    explain exploit explore export expose express extend extinguish extract face facilitate factor
    fade fail fall falter familiarize fashion fasten favor fear feature feed feel fetch fight file
    fill filter find finish fit fix flag flare flash flatten flavor flee flicker flip float flood
    flourish flow flush fly focus fold follow forbid forecast foresee forge forget forgive form
    formulate forsake fortify foster frame free freeze fulfil fulfill function fund fuse gain
    gallop gasp gather gauge gaze generate get give glance gleam glide glimpse glitter glow go
    gossip govern grab graduate grant grasp greet grieve grind grip groan grow guarantee guard
    guess guide gush halt hammer handle hang happen harden harness hasten hate haul haunt have
    head heal hear heat heighten help herald hesitate hide highlight hike hinder hinge hire hit
    hoist hold honor hope host hover hug hum humble hunt hurry hurt hydrate identify ignite ignore
    illuminate illustrate imagine imitate immerse impact impart impede implement implore imply
    import impose impress improve incline include incorporate increase indicate influence inform
    inhabit inhale inherit initiate inject innovate inquire insert insist inspect inspire install
    instill instruct insulate insure integrate intend intensify interact intercept interpret
    interrupt intervene intrigue introduce invade invent invert invest investigate invite invoke
    involve irritate isolate iterate jog join jot journey judge jump justify keep kick kill kindle
    kiss kneel knit knock know label lament land last laugh launch lay lead leak lean leap learn
    leave lend lengthen lessen let level leverage liberate lie lift light like limit linger link
    list listen live load loan locate lock log long look loom lose lounge love lower lure magnify
    maintain make manage maneuver manipulate manufacture map march mark marvel master match matter
    maximize mean meander measure meditate meet melt memorize mend mention merge mimic mind mingle
    minimise minimize mirror mislead miss mitigate mix moan mobilize model moderate modify
    modulate monitor motivate mount mourn move multiply mumble muse name nap narrow navigate need
    neglect negotiate nestle nod nominate normalize note notice nourish nudge numb nurture obey
    oblige obscure observe obstruct obtain occupy occur offer omit ooze open operate oppose opt
    optimize orchestrate order organize orient originate oscillate outline outpace outweigh
    overcome overlook oversee overwhelm owe own pack paddle paint paraphrase pardon park parse
    participate partition partner pass patch pause pay peel peer penetrate perceive perform perish
    permeate permit persevere persist personalize persuade pick picture pierce pilot pinpoint
    pitch place plan plant play plead pledge plot plow plunge point poke polish ponder populate
    portray pose position possess post postpone postulate pour practice practise praise pray
    preach precede preclude predict prefer preheat prepare prescribe present preserve preside
    press presume pretend prevail prevent price print prioritize probe proceed process proclaim
    procure produce program progress prohibit project proliferate prolong promise promote prompt
    pronounce propel propose prosper protect prove provide provoke prune publish pull pump punish
    purchase purify pursue push put quench query question quicken quit quote race radiate raise
    rally ramble range rank rate reach react read realize reassure rebel rebuild recall recede
    receive recite reckon reclaim recognize recollect recommend reconcile reconsider reconstruct
    record recover recruit recur recycle redefine redirect redo reduce refer refill refine reflect
    refrain refresh refuse refute regain regard register regret regulate rehearse reign reinforce
    reiterate reject rejoice relate relax relay release relieve relinquish relish relocate rely
    remain remember remind reminisce remove rename render renew renounce repair repay repeat repel
    replace replenish replicate reply report represent reproduce request require rescue research
    resemble reside resist resolve resonate resort respect respond rest restart restore restrain
    restrict resume resurrect retain retell rethink retire retrace retreat retrieve return reunite
    reuse reveal revere reverse revert review revise revisit revive revolutionize revolve reward
    reword rewrite ride ring rip ripple rise risk roam roar roast robe rock roll rotate rouse rub
    rule run rush sacrifice sail salute sample satisfy save savor savour say scale scan scatter
    schedule scold scorch scour scrape scratch scream scribble scroll scrub sculpt seal search
    secure seduce see seek seem seize select sell send separate serve set settle sever sew shake
    shape share sharpen shatter shed shelter shield shift shimmer shine ship shiver shoot shop
    shout shove show shrink shrug shuffle shut sigh sign signal simplify simulate sing sink sit
    situate sketch skim skip slam slash slay sleep slice slide slip slow slumber smash smell smile
    smooth snap sneak soak soar soften solve sort sound sow span spark sparkle speak specify spell
    spend spill spin spiral splash split sponsor spot spray spread spring sprinkle sprint squeeze
    stabilize stack stagger stand stare start startle state stay steal steep steer stem step stick
    stimulate stir stitch stop store strain strand strategize streamline strengthen stress stretch
    stride strike strip strive stroll structure struggle study stumble stun subdue submerge submit
    subscribe subside substitute subtract succeed suffer suggest suit summarize summon supervise
    supply support suppose suppress surf surge surpass surrender surround survey survive suspect
    sustain swallow swap sway swear sweep swim swing swirl switch symbolize sympathize synthesize
    tackle tailor take talk tame tap target taste teach tear tease tell tempt tend terminate test
    testify thank thaw thicken think threaten thrill thrive throw thrust thwart tidy tie tighten
    tilt toast toggle toil tolerate toss touch tow tower trace track trade train transcend
    transfer transform translate transmit travel tread treasure treat trek tremble trick trickle
    trigger trim trot trust try tumble tune turn tutor twist type uncover undergo underline
    undermine underscore understand undertake undo unearth unfold unfurl unite unlearn unleash
    unlock unpack unravel unveil unwind update upgrade uphold uplift upload uproot urge use usher
    utilize utter vacate validate value vanish vary venture verify vibrate view visit visualize
    volunteer vote vow wade wail wait wake walk wander want warn wash waste watch water wave
    weaken wear weave weed weep weigh welcome whip whirl whisk whisper widen wield win wink wipe
    wish withdraw wither withhold withstand witness wonder woo work worry wound wrap wrestle write
    yearn yell yield zigzag zoom
    """.split()
)
_IRREGULAR = frozenset(
    """
    am are is was were been has had having does did done being goes went gone said made came took
    taken saw seen knew known got gotten gave given found thought told became left felt put
    brought began begun kept held wrote written stood heard meant met ran paid sat spoke spoken
    lay lain led read grew grown lost fell fallen sent built understood drew drawn broke broken
    spent rose risen drove driven bought wore worn chose chosen sought threw thrown caught dealt
    won taught flew flown ate eaten slept sang sung swam swum sank sunk rang rung drank drunk
    forgot forgotten forgave hid hidden bit bitten blew blown froze frozen stole stolen swore
    sworn tore torn woke woken shook shaken rode ridden shot fed fled fought hung laid lent lit
    sold slid spun struck stuck swept swung wept wound bound bent bore born beheld dug can could
    may might must shall should will would ought don't doesn't didn't isn't aren't wasn't weren't
    can't couldn't won't wouldn't shouldn't let's haven't hasn't hadn't dying lying tying
    """.split()
)
_VOWELS = frozenset("aeiou")
_AFTER_SUBJECTS = frozenset(
    """
    is are was were has have had does did can could may might must shall should will would isn't
    aren't wasn't weren't hasn't haven't hadn't can't won't
    """.split()
)
"""Before one of them, a word that could be either is a noun: `water is`, `plans have`."""


def begins_with_verb(words: Sequence[str]) -> bool:
    """Whether the first word is a form of a verb, as far as a list and the next word can tell."""
    if not words or not can_be_verb(words[0]):
        return False
    first, second = words[0].casefold(), words[1].casefold() if len(words) > 1 else ""
    return second not in _AFTER_SUBJECTS or first in _IRREGULAR or first.endswith("ing")


def can_be_verb(word: str) -> bool:
    """Whether a word is a form of a verb that we know; many are nouns too (`access`, `plan`)."""
    form = word.casefold()
    if form in _BASES or form in _IRREGULAR:
        return True
    return any(base in _BASES for base in _possible_bases(form))


def _possible_bases(form: str) -> list[str]:
    """Return the words of which a form may be the -s, -ed or -ing form."""
    bases = []
    for ending in ("s", "es", "d", "ed", "ing"):
        if form.endswith(ending) and len(form) > len(ending) + 1:
            stem = form.removesuffix(ending)
            bases += [stem, stem + "e", stem.removesuffix("i") + "y"]
            if len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in _VOWELS:
                bases.append(stem[:-1])
    return bases
