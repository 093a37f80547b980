// A model from a recipe, or from a configuration of one's own.
import {call} from "./calls.js";
import {h} from "./dom.js";

/** A view that makes a model. The recipes come with the console and need no token; making does. */
export function createView(place) {
  document.title = "New model · bandana";
  let loaded = false;

  function form(recipes) {
    const said = h("p", {class: "said bad", role: "alert"});
    const about = h("small", {});
    const recipe = h(
      "select",
      {id: "recipe"},
      recipes.map(({name}) => h("option", {value: name}, name)),
    );
    const name = h("input", {
      id: "name",
      required: true,
      pattern: "[a-z0-9][a-z0-9\\-]{0,62}",
      title: "lower-case letters, digits and hyphens, at most 63",
      autocomplete: "off",
    });
    const quick = h("input", {id: "quick", type: "checkbox"});
    const text = h("textarea", {
      id: "config",
      spellcheck: "false",
      rows: "24",
      "aria-describedby": "config-about",
    });
    const fill = () => {
      const chosen = recipes.find((one) => one.name === recipe.value);
      about.textContent = chosen.about;
      quick.disabled = !chosen.toTry;
      const config = {...(quick.checked && chosen.toTry ? chosen.toTry : chosen.config)};
      delete config.name;
      text.value = JSON.stringify(config, null, 1);
      if (name.value === "" || recipes.some((one) => one.name === name.value))
        name.value = chosen.name;
    };
    recipe.addEventListener("change", fill);
    quick.addEventListener("change", fill);
    fill();
    return h(
      "form",
      {
        submit: async (event) => {
          event.preventDefault();
          try {
            const config = {...JSON.parse(text.value), name: name.value};
            await call("/v1/admin:createModel", {config});
            location.hash = `#/models/${encodeURIComponent(name.value)}`;
          } catch (error) {
            said.textContent =
              error instanceof SyntaxError
                ? `The configuration is no JSON: ${error.message}`
                : error.message;
          }
        },
      },
      h("div", {}, h("label", {for: "recipe"}, "Recipe"), recipe),
      h("div", {}, h("label", {for: "name"}, "Name"), name),
      h(
        "div",
        {},
        h("label", {class: "tick", for: "quick"}, quick, "To try: rewards count within seconds"),
      ),
      h("p", {class: "wide said"}, about),
      h(
        "div",
        {class: "wide"},
        h("label", {for: "config"}, "Configuration"),
        text,
        h(
          "small",
          {id: "config-about"},
          "ModelConfig as JSON. Give features, bounds and the reward window as your " +
            "application has them; the comments of `bandana-server --new_model` say what each is " +
            "for.",
        ),
      ),
      h("div", {}, h("button", {}, "Create")),
      h("div", {class: "wide"}, said),
    );
  }

  return {
    async round() {
      if (loaded) return "A model from a recipe";
      // Whoever may not make models learns it before filling the form.
      await call("/v1/admin:listModels");
      const recipes = await call("/console/recipes.json");
      loaded = true;
      place.replaceChildren(form(recipes));
      return "A model from a recipe";
    },
  };
}
