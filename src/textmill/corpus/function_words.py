"""Function words of English: words that hold sentences together and say little about their subject.

Closed classes (determiners, pronouns, prepositions, conjunctions, auxiliaries, numerals) with their forms, and the
adverbs and general verbs that occur in texts on anything. For other languages, or for a domain of your own, pass a list
of your own, or let `max_df` of a `Vocabulary` find what is in most documents.
"""

from __future__ import annotations

__all__ = ["FUNCTION_WORDS"]

_CLASSES = {
    "determiners": """a an the this that these those each every either neither both all any some no none such another
        other others same own several few fewer fewest many more most much less least little enough half certain
        various whatever whichever which what whose""",
    "pronouns": """i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
        she her hers herself it its itself they them their theirs themselves one ones oneself someone somebody
        something anyone anybody anything everyone everybody everything nobody nothing who whom whoever whomever there
        here thing things""",
    "prepositions": """about above across after against along alongside amid among amongst around as aside at away
        before behind below beneath beside besides between beyond by concerning despite down during except excepting
        excluding following for from in including inside into like minus near nearby of off on onto opposite out
        outside over past per plus regarding round save since than through throughout till times to toward towards
        under underneath unlike until up upon versus via with within without due owing according apart instead""",
    "conjunctions": """and but or nor so yet for because although though even if unless while whilst whereas whether
        once provided providing lest hence thus therefore thereby thereafter therein thereupon moreover furthermore
        however nevertheless nonetheless otherwise accordingly consequently meanwhile likewise also too then else when
        whenever where wherever why how whence whereby wherein""",
    "auxiliaries": """am is are was were be been being isn't aren't wasn't weren't ain't do does did done doing don't
        doesn't didn't have has had having haven't hasn't hadn't will would shall should can could may might must ought
        won't wouldn't shan't shouldn't can't cannot couldn't mayn't mightn't mustn't i'm i've i'll i'd you're you've
        you'll you'd he's he'll he'd she's she'll she'd it's it'll it'd we're we've we'll we'd they're they've they'll
        they'd that's that'll there's there'll here's who's who'll who'd what's where's when's why's how's let's let""",
    "numerals": """zero two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand first second
        third fourth fifth sixth seventh eighth ninth tenth firstly secondly thirdly twice thrice last next""",
    "adverbs": """not never ever always often sometimes seldom rarely usually again already still just only even
        almost nearly quite rather very really so such soon now today later earlier ago back forth further far
        forward backwards together apart perhaps maybe indeed anyway anyhow anywhere everywhere somewhere nowhere
        elsewhere somehow somewhat especially particularly mainly mostly merely simply actually certainly clearly
        currently definitely exactly finally generally greatly immediately inasmuch insofar largely lately latterly
        namely necessarily normally obviously possibly presumably previously probably recently relatively respectively
        reasonably seriously similarly specifically subsequently sufficiently surely thoroughly truly unfortunately
        hopefully hardly hereafter hereby herein inward formerly former latter yes well ok okay please able likely
        unlikely afterwards beforehand alone whole overall entirely fully partly""",
    "verbs": """get gets got gotten getting go goes went gone going come comes came coming become becomes became
        becoming make makes made making take takes took taken taking give gives gave given giving keep keeps kept
        keeping put puts say says said saying see sees saw seen seeing seem seems seemed seeming tell tells told think
        thinks thought know knows known knew want wants wanted wish wishes use uses used using useful try tries tried
        trying need needs needed look looks looked looking ask asks asked asking appear appears appeared allow allows
        allowed help helps helped happen happens happened contain contains containing consider considers considered
        considering follow follows followed hold indicate indicates indicated provide provides specify specified
        specifying show shows showed shown begin begins began believe believes believed bring brings brought cause
        causes regard regards regardless welcome thank thanks sorry hello hi""",
    "others": """eg ie etc viz vs co com et al ex inc ltd mr mrs ms dr re self selves anyways seen sent new changes
        appropriate appreciate associated available corresponding course described different downwards entire
        example exactly hither ignored inner novel particular placed plus possible right sub sup sure thats theres took
        upwards value way ways b c d e f g h j k l m n o p q r s t u v w x y z""",
}

FUNCTION_WORDS: tuple[str, ...] = tuple(sorted({word for words in _CLASSES.values() for word in words.split()}))
