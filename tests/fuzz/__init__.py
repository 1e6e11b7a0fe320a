"""Bad input by the thousand: no request may hurt the server."""
