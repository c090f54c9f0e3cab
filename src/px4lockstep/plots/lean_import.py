"""Import less of Matplotlib, in a process that draws one figure and ends.

Matplotlib writes the documentation of its classes when it is imported, which takes a quarter of the import, and imports
axes in 3D. The figures do not depend on either.
"""

import sys
import warnings
from typing import Any


def import_lean() -> None:
    """Import Matplotlib without documentation and without 3D, unless it has been imported.

    This builds on Matplotlib's internals. Where a name is another one, the import is complete, and slower.
    """
    if "matplotlib" in sys.modules:
        return
    from matplotlib import artist

    internals: Any = artist
    internals.Artist._update_set_signature_and_docstring = classmethod(lambda _: None)
    internals.kwdoc = lambda _: ""
    blocked: dict[str, Any] = sys.modules
    blocked["mpl_toolkits.mplot3d"] = None
    with warnings.catch_warnings(action="ignore"):  # that 3D is missing
        import matplotlib.projections  # noqa: F401
