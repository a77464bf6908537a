/** [P] When responses of a session begin, and bring their first output. Times are in milliseconds of one clock. */

export interface ResponseTime {
  readonly durationMs: number;
  /** Undefined: nothing has come of it. */
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

  /** Undefined: it has not begun, or has ended before. */
  end(responseId: string, nowMs: number): ResponseTime | undefined {
    const running = this.#running.get(responseId);
    if (!running) return undefined;
    this.#running.delete(responseId);
    const { beganAt, firstOutputAt } = running;
    const firstOutputMs = firstOutputAt === undefined ? undefined : firstOutputAt - beganAt;
    return { durationMs: nowMs - beganAt, firstOutputMs };
  }
}
