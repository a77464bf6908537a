/** [P] The calculator's script for browsers, which computes with the functions by which the gateway bills. */
import { roundHalfUp, sumOf } from '#price/exact.ts';

/** Puts the text of these functions before a script's own, in a scope of their own. */
export function withPriceFunctions(script: string): string {
  return `(() => {\n${[sumOf, roundHalfUp].map(String).join('\n')}\n${script}})();\n`;
}
