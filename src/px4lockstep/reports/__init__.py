"""Reports: one HTML file of a run, a campaign or a comparison that opens offline."""
