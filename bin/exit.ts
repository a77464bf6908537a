/** How a command ends. */

export const EXIT = { ok: 0, failed: 1, usage: 64 } as const;

/** A failure that was foreseen: its message is all that a person needs, so no stack is shown. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  readonly exitCode: number;
  constructor(message: string, exitCode: number = EXIT.failed, cause?: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}
