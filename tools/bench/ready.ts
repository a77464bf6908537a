/** How a process of the bench tells the one that started it where it listens. */
import type { AddressInfo, Server } from 'node:net';

const LINE = /^listening on port (\d+)$/m;

/** Listens, and says so on standard output. */
export function listening(server: Server, port: number): void {
  server.listen(port, '127.0.0.1', () => tellPort((server.address() as AddressInfo).port));
}

export function tellPort(port: number): void {
  process.stdout.write(`listening on port ${port}\n`);
}

/** The port that a process has told of; undefined: not yet. */
export function readPort(output: string): number | undefined {
  const port = LINE.exec(output)?.[1];
  return port === undefined ? undefined : Number(port);
}
