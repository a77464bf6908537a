"""Runs one client against each model, and prints a verdict per line for the suite."""
import json
import os
import sys

ROOT = os.environ["GATEWAY_URL"]
OPENAI = ROOT + "/v1"
KEY = os.environ["GATEWAY_KEY"]


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def run(scenario):
    for model in os.environ["MODELS"].split(","):
        try:
            scenario(model)
            verdict = {"model": model, "ok": True}
        except BaseException as error:  # the suite reports whatever ends a client
            verdict = {"model": model, "ok": False, "error": f"{type(error).__name__}: {error}"[:1000]}
        print("VERDICT " + json.dumps(verdict))
        sys.stdout.flush()
