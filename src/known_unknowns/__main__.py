from known_unknowns.cli import main

main()
