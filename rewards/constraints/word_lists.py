"""Lists of words that constraints name: stop words, names, pronouns, conjunctions, places."""

STOP_WORDS = frozenset(
    """
    a about above after again against ain all am an and any are aren as at be because been before
    being below between both but by can couldn d did didn do does doesn doing don down during each
    few for from further had hadn has hasn have haven having he her here hers herself him himself
    his how i if in into is isn it its itself just ll m ma me mightn more most mustn my myself
    needn no nor not now o of off on once only or other our ours ourselves out over own re s same
    shan she should shouldn so some such t than that the their theirs them themselves then there
    these they this those through to too under until up ve very was wasn we were weren what when
    where which while who whom why will with won wouldn y you your yours yourself yourselves
    """.split()
)
r"""NLTK's English stop words, as far as they are runs of `\w`."""

CONJUNCTIONS = frozenset("and but for nor or so yet".split())
"""The coordinating conjunctions."""

PERSON_NAMES = tuple(
    """
    Emma Liam Sophia Jackson Olivia Noah Ava Lucas Isabella Mason Mia Ethan Charlotte Alexander
    Amelia Benjamin Harper Leo Zoe Daniel Chloe Samuel Lily Matthew Grace Owen Abigail Gabriel Ella
    Jacob Scarlett Nathan Victoria Elijah Layla Nicholas Audrey David Hannah Christopher Penelope
    Thomas Nora Andrew Aria Joseph Claire Ryan Stella Jonathan
    """.split()
)
"""The list that the instruction gives."""

PRONOUNS = frozenset(
    """
    i me we us you he him she her it they them my mine our ours your yours his hers its their
    theirs myself ourselves yourself yourselves himself herself itself themselves this that these
    those who whom whose which what whoever whomever whatever whichever anybody anyone anything
    everybody everyone everything nobody nothing somebody someone something each either neither
    both all some any none
    """.split()
)
"""What the official code counts."""

MINOR_WORDS = frozenset(
    """
    a an and as at but by for from if in into nor of off on onto or out over per so than the to up
    upon via vs with yet
    """.split()
)
"""Words that title case may leave small: articles, conjunctions, short prepositions."""

CAPITALS_NORTH_OF_45 = tuple(
    """
    Reykjavik Helsinki Oslo Tallinn Stockholm Riga Moscow Copenhagen Vilnius Minsk Dublin Berlin
    Amsterdam Warsaw London Brussels Prague Luxembourg Paris Vienna Bratislava Budapest Vaduz
    Chisinau Bern Ljubljana Zagreb
    """.split()
)
"""From north to south, as the official code has them: without Kyiv."""

AFRICAN_COUNTRIES = tuple(
    """
    Algeria;Angola;Benin;Botswana;Burkina Faso;Burundi;Cabo Verde|Cape Verde;Cameroon;
    Central African Republic;Chad;Comoros;Democratic Republic of the Congo|
    Democratic Republic of Congo|Congo-Kinshasa|
    Congo (Kinshasa)|
    DR Congo|Congo (Democratic Republic)|Congo, Democratic Republic of the|
    Congo (Democratic Republic of the);Republic of the Congo|
    Republic of Congo|Congo-Brazzaville|Congo (Brazzaville)|
    Congo|Congo (Republic)|Congo, Republic of the|Congo (Republic of the);
    Cote d'Ivoire|Ivory Coast;Djibouti;Egypt;
    Equatorial Guinea;Eritrea;Eswatini|Swaziland;Ethiopia;Gabon;Gambia|The Gambia;Ghana;Guinea;
    Guinea-Bissau;Kenya;Lesotho;Liberia;Libya;Madagascar;Malawi;Mali;Mauritania;Mauritius;Morocco;
    Mozambique;Namibia;Niger;Nigeria;Rwanda;Sao Tome and Principe;Senegal;Seychelles;Sierra Leone;
    Somalia;South Africa;South Sudan;Sudan;Tanzania;Togo;Tunisia;Uganda;
    Western Sahara|Sahrawi Arab Democratic Republic|Sahrawi Republic;Zambia;Zimbabwe
    """.replace("\n", " ").split(";")
)
"""The 54 members of the United Nations and Western Sahara, each with the names it goes by."""
