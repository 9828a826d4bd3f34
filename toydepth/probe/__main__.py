from toydepth.probe.probe_command import main

if __name__ == "__main__":
    main()
