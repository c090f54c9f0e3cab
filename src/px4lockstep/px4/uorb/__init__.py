"""uORB messages without generated code: layouts are NumPy dtypes, checked against the loaded library."""

from px4lockstep.px4.uorb.layout import Layout
from px4lockstep.px4.uorb.shipped import shipped_layouts
from px4lockstep.px4.uorb.sources import LayoutSources, TopicMetadata, check_layouts

__all__ = ["Layout", "LayoutSources", "TopicMetadata", "check_layouts", "shipped_layouts"]
