/** How a process of the bench prints its port for the process that started it. */
import type { AddressInfo, Server } from 'node:net';

const LINE = /^listening on port (\d+)$/m;

/** Listens, and prints the port on standard output. */
export function listening(server: Server, port: number): void {
  server.listen(port, '127.0.0.1', () => printPort((server.address() as AddressInfo).port));
}

export function printPort(port: number): void {
  process.stdout.write(`listening on port ${port}\n`);
}

/** The port that a process has printed; undefined: none yet. */
export function readPort(output: string): number | undefined {
  const port = LINE.exec(output)?.[1];
  return port === undefined ? undefined : Number(port);
}
