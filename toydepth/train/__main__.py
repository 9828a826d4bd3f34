from toydepth.train.training_command import main

if __name__ == "__main__":
    main()
