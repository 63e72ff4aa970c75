"""People on each platform's test server, and what the bot shows them, in one vocabulary for all suites.

`driver.py` has the vocabulary (`Driver` and its values), the other modules have one platform each. A test that needs
more of a platform than the vocabulary has asks its server (`driver.server`), which has the platform's own words.
"""
