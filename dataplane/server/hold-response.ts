/** Counts the bytes of a response against the memory of its owner until the client has it. */
import type { ServerResponse } from 'node:http';
import { HeldBytes } from '../memory-budget.ts';
import type { MemoryBudget, MemoryOwner } from '../memory-budget.ts';

/** Returns a function that sets how many bytes the owner's response holds. It throws GatewayError. */
export function holdUntilClosed(
  memory: MemoryBudget,
  response: ServerResponse,
): (bytes: number, owner: MemoryOwner) => void {
  let held: HeldBytes | undefined;
  return (bytes, owner) => {
    // a client that has left ends the exchange, too
    if (response.destroyed || (bytes === 0 && !held)) return;
    if (!held) {
      const first = (held = new HeldBytes(memory, owner));
      response.once('close', () => first.set(0));
    }
    held.set(bytes);
  };
}
