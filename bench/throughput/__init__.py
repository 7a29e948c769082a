"""Questions a second: this project's engine against what a user would run instead. See README.md."""
