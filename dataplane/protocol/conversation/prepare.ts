/** Prepares a conversation for a provider: the repairs that it declares to need, in the one order that they work in. */
import { withoutBlanks } from './repairs/blank-texts.ts';
import { endForModel, startWithUser } from './repairs/ends.ts';
import { withoutForeignReasoning } from './repairs/foreign-reasoning.ts';
import type { ReasoningNeeds } from './repairs/foreign-reasoning.ts';
import { joinCalls, joinTurns } from './repairs/join-turns.ts';
import { pairResults } from './repairs/pair-results.ts';
import { placeSystem } from './repairs/place-system.ts';
import type { PlacedSystem, SystemPlace } from './repairs/place-system.ts';
import { uniqueIds } from './repairs/unique-ids.ts';
import { imagesAsUser } from './repairs/user-images.ts';
import type { Turn } from './request.ts';

/** What a provider needs of a conversation's turns. */
export interface Needs {
  readonly reasoning: ReasoningNeeds;
  readonly system: SystemPlace;
  /** Takes images in turns of the assistant. */
  readonly assistantImages: boolean;
  /** Turns alternate, and begin with the user's. */
  readonly alternates: boolean;
  /** Takes texts without words, and turns of nothing else. */
  readonly blanks: boolean;
  /** The model can go on with a last turn of the assistant. */
  readonly prefill: boolean;
}

export function prepare(given: readonly Turn[], needs: Needs): PlacedSystem {
  const own = withoutForeignReasoning(given, needs.reasoning);
  const placed = placeSystem(needs.blanks ? own : withoutBlanks(own), needs.system);
  const joined = joinCalls(placed.turns);
  const paired = pairResults(uniqueIds(needs.assistantImages ? joined : imagesAsUser(joined)));
  const turns = needs.alternates ? joinTurns(startWithUser(paired)) : paired;
  return { system: placed.system, turns: endForModel(turns, needs.prefill) };
}
