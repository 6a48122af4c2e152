# SPDX-License-Identifier: MIT
"""What several files of tests share: words for sessions and ctl, damage, tracing, a Debian system. No tests here."""
