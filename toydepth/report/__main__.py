from toydepth.report.report_command import main

if __name__ == "__main__":
    raise SystemExit(main())
