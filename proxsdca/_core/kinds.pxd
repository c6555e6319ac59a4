# The terms and maps that the loop is specialised for.  Any other Term or Map runs
# through the same source by virtual calls, which costs up to a tenth on rows of ten
# nonzeros for a term, and more for a map.  Each one listed adds to the build.

from .columns cimport LossMap, Penalty
from .losses cimport Hinge, Logistic, SmoothHinge, Squared, SquaredHinge
from .map cimport Map
from .regs cimport GroupMap, L1L2Map, L2Map, QNormMap, WeightedL1L2Map
from .term cimport Term


ctypedef fused AnyTerm:
    Hinge
    SmoothHinge
    SquaredHinge
    Logistic
    Squared
    Penalty
    Term

ctypedef fused AnyMap:
    L2Map
    L1L2Map
    WeightedL1L2Map
    QNormMap
    GroupMap
    LossMap
    Map

# Maps whose w_j depends on v_j alone; the loop knows them together with every loss, each
# other map with one kind of term.
ctypedef fused SeparableMap:
    L2Map
    L1L2Map
    WeightedL1L2Map
