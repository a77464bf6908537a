/** [P] Times the responses of a session, by one clock in milliseconds. */

export interface ResponseTime {
  readonly durationMs: number;
  /** Undefined: it had no output. */
  readonly firstOutputMs: number | undefined;
}

interface Running {
  readonly beganAt: number;
  firstOutputAt: number | undefined;
}

export class ResponseTimes {
  readonly #running = new Map<string, Running>();

  begin(responseId: string, nowMs: number): void {
    this.#running.set(responseId, { beganAt: nowMs, firstOutputAt: undefined });
  }

  addOutput(responseId: string, nowMs: number): void {
    const running = this.#running.get(responseId);
    if (running) running.firstOutputAt ??= nowMs;
  }

  /** Undefined if it never began, or has already ended. */
  end(responseId: string, nowMs: number): ResponseTime | undefined {
    const running = this.#running.get(responseId);
    if (!running) return undefined;
    this.#running.delete(responseId);
    const { beganAt, firstOutputAt } = running;
    const firstOutputMs = firstOutputAt === undefined ? undefined : firstOutputAt - beganAt;
    return { durationMs: nowMs - beganAt, firstOutputMs };
  }
}
