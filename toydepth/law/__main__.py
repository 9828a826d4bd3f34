from toydepth.law.law_command import main

if __name__ == "__main__":
    main()
