"""Objects as kubectl prints them: tables with the columns of each kind."""
