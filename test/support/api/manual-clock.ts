/** The clock and the timer of a gateway in a test, which advance only when the test says so. */
import assert from 'node:assert/strict';

const MAX_TURNS = 2000;
const TURNS_BETWEEN_TICKS = 20;
const TICK_MS = 10_000;

export class ManualClock {
  nowMs: number;
  #tick: () => void = () => undefined;

  constructor(start: string) {
    this.nowMs = Date.parse(start);
  }

  /** What the gateway is started with. */
  readonly options = {
    nowMs: (): number => this.nowMs,
    timers: {
      every: (_ms: number, each: () => void): (() => void) => {
        this.#tick = each;
        return () => {
          this.#tick = () => undefined;
        };
      },
    },
  };

  /** Runs what is due once, for example a round of the poller. */
  tick(): void {
    this.#tick();
  }

  /** Advances until the condition holds; fails with `message` if it never does. */
  async tickUntil(holds: () => Promise<boolean>, message: string): Promise<void> {
    for (let turns = 0; turns < MAX_TURNS; turns++) {
      if (turns % TURNS_BETWEEN_TICKS === 0) {
        this.nowMs += TICK_MS;
        this.tick();
      }
      if (await holds()) return;
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    assert.fail(message);
  }
}
