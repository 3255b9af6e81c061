/** What a screen is looking at, kept in the address: one field of the query. */
import { computed, type WritableComputedRef } from "vue";
import { useRoute, useRouter } from "vue-router";

/** Setting one field drops those that it makes meaningless, such as the place in a list. */
export function field(name: string, usual = "", drops: string[] = ["offset"]): WritableComputedRef<string> {
  const route = useRoute();
  const router = useRouter();
  return computed({
    get: () => (typeof route.query[name] === "string" ? (route.query[name] as string) : usual),
    set: (value) => {
      const query = { ...route.query, [name]: value === usual ? undefined : value };
      for (const gone of drops) if (gone !== name) delete query[gone];
      void router.replace({ query });
    },
  });
}
