/** Exit codes of commands. */

export const EXIT = { ok: 0, failed: 1, usage: 64 } as const;

/** An expected failure: its message is printed without a stack. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  readonly exitCode: number;
  constructor(message: string, exitCode: number = EXIT.failed, cause?: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}
