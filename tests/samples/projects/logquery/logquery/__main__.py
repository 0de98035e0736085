from logquery.cli import main

raise SystemExit(main())
